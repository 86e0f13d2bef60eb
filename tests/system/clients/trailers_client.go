// net/http's client: go run trailers_client.go PORT
// Posts a body with trailer fields to /echo, three times over one connection. Prints the responses
// as JSON.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

type seen struct {
	Body      string      `json:"body"`
	Announced http.Header `json:"announced"`
	Trailers  http.Header `json:"trailers"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ask(client *http.Client, url, text string) seen {
	// A reader of unknown length, so the body is chunked.
	request, err := http.NewRequest("POST", url, io.MultiReader(strings.NewReader(text)))
	check(err)
	request.Trailer = http.Header{"Sum": {"6"}, "X-Empty": {""}}
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	announced := response.Trailer.Clone()
	body, err := io.ReadAll(response.Body)
	check(err)
	return seen{string(body), announced, response.Trailer}
}

func main() {
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	url := "http://127.0.0.1:" + os.Args[1] + "/echo"
	answers := []seen{}
	for _, text := range []string{"abc", "", "hello, world"} {
		answers = append(answers, ask(client, url, text))
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}
