package source

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/robotskit/robots/fleet"
	"github.com/robotskit/robots/pace"
)

// Environment variables with the passwords of --redis: others can see a flag, and the shell
// keeps it in its history. NAME_FILE names a file with the password.
const (
	passwordName         = "ROBOTS_REDIS_PASSWORD"
	sentinelUserName     = "ROBOTS_REDIS_SENTINEL_USER"
	sentinelPasswordName = "ROBOTS_REDIS_SENTINEL_PASSWORD"
	inFile               = "_FILE"
)

// secret returns a password from the environment, "" if there is none.
func secret(name string) (string, error) {
	word := os.Getenv(name)
	file := os.Getenv(name + inFile)
	switch {
	case file == "":
		return word, nil
	case word != "":
		return "", fmt.Errorf("both %s and %s are set: set only one of them", name, name+inFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name+inFile, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// WithPasswords adds the passwords of the environment to the options of a fleet.
func WithPasswords(flag, at string, o fleet.Options) (fleet.Options, error) {
	if u, err := url.Parse(at); err == nil {
		if _, shown := u.User.Password(); shown {
			return o, fmt.Errorf(
				"%s %s: others can see a password on the command line; set %s, or name a file in %s", flag, u.Redacted(), passwordName,
				passwordName+inFile,
			)
		}
	}
	o.SentinelUser = os.Getenv(sentinelUserName)
	var err error
	if o.Password, err = secret(passwordName); err != nil {
		return o, err
	}
	o.SentinelPassword, err = secret(sentinelPasswordName)
	return o, err
}

// Join joins the fleet on the Redis given with a flag.
func Join(flag, at string, o fleet.Options) (*fleet.Fleet, error) {
	o, err := WithPasswords(flag, at, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), FetchMargin)
	defer cancel()
	f, err := fleet.Open(ctx, at, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return f, nil
}

// AddressPaces reads the paces of addresses.
func AddressPaces(texts []string) (o pace.Options, err error) {
	for _, text := range texts {
		var p pace.AddressPace
		if err := p.Set(text); err != nil {
			return o, err
		}
		o.Addresses = append(o.Addresses, p)
	}
	return o, nil
}
