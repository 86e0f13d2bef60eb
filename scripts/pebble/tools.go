//go:build tools

// Pins Pebble, the ACME server that tests/system/test_acme.py uses.
package tools

import (
	_ "github.com/letsencrypt/pebble/v2/cmd/pebble"
	_ "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv"
)
