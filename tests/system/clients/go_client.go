// net/http's client: go run go_client.go PROTOCOL PORT CA_FILE NAME
// Gets /page, uploads it as NAME, downloads the upload, and gets /page 20 times concurrently.
// Prints the results as JSON.
package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"sync"
)

type answer struct {
	status  int
	version string
	body    []byte
}

type seen struct {
	Versions []string `json:"versions"`
	Statuses []int    `json:"statuses"`
	Page     string   `json:"page"`
	Again    string   `json:"again"`
	Many     []string `json:"many"`
}

var (
	client = &http.Client{}
	base   string
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func newTransport(protocol, certificate string) *http.Transport {
	transport := &http.Transport{ForceAttemptHTTP2: strings.HasPrefix(protocol, "h2")}
	if strings.HasSuffix(protocol, "tls") {
		pem, err := os.ReadFile(certificate)
		check(err)
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			log.Fatal("no certificate in ", certificate)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return transport
}

func send(method, path, contentType string, body io.Reader) answer {
	request, err := http.NewRequest(method, base+path, body)
	check(err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	check(err)
	return answer{response.StatusCode, response.Proto, content}
}

// Writes the form while sending it. Its length is unknown, so HTTP/1.1 sends it chunked.
func upload(name string, content []byte) answer {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() {
		part, err := form.CreateFormFile("file", name)
		check(err)
		_, err = part.Write(content)
		check(err)
		check(form.Close())
		check(writer.Close())
	}()
	return send("POST", "/files", form.FormDataContentType(), reader)
}

func getAtOnce(path string, count int) []answer {
	answers := make([]answer, count)
	var group sync.WaitGroup
	for i := range answers {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			answers[i] = send("GET", path, "", nil)
		}(i)
	}
	group.Wait()
	return answers
}

func digest(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

func distinct(answers []answer, of func(answer) string) []string {
	found := map[string]bool{}
	list := []string{}
	for _, one := range answers {
		if value := of(one); !found[value] {
			found[value] = true
			list = append(list, value)
		}
	}
	return list
}

func main() {
	protocol, port, certificate, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	scheme := "http"
	if strings.HasSuffix(protocol, "tls") {
		scheme = "https"
	}
	base = scheme + "://localhost:" + port
	client.Transport = newTransport(protocol, certificate)

	page := send("GET", "/page", "", nil)
	stored := upload(name, page.body)
	again := send("GET", "/files/"+name, "", nil)
	many := getAtOnce("/page", 20)
	absent := send("GET", "/absent", "", bytes.NewReader(nil))
	all := append([]answer{page, stored, again}, many...)
	check(json.NewEncoder(os.Stdout).Encode(seen{
		Versions: distinct(all, func(one answer) string { return one.version }),
		Statuses: []int{page.status, stored.status, again.status, absent.status},
		Page:     digest(page.body),
		Again:    digest(again.body),
		Many:     distinct(many, func(one answer) string { return digest(one.body) }),
	}))
}
