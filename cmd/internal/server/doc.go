// Package server is the HTTP service of robots serve: clients in any language ask whether a
// crawler may fetch a URL, when, and why. openapi.yaml describes it. Every response with a
// status of 400 or more is a Problem.
package server
