module github.com/robotskit/robots/bench

go 1.26.0

require (
	github.com/redis/rueidis v1.0.79
	github.com/robotskit/robots v0.0.0
)

require (
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

require (
	github.com/temoto/robotstxt v1.1.2
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
