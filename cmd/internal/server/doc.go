// Package server is the HTTP service, robots serve: a crawler in any language
// asks it whether it may fetch a page, when, and why. Every answer with a
// status of 400 or more is a Problem.
package server
