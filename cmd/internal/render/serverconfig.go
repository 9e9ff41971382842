package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/robotskit/robots/cmd/internal/answer"
)

// ServerConfigs are the formats of ServerConfig.
var ServerConfigs = []string{"nginx", "apache", "caddy", "haproxy"}

// serverComment begins each configuration.
const serverComment = `# Answers 403 to the crawlers that robots.txt blocks everywhere, except at /robots.txt (robots crawlers --format %s).
`

// programs matches programs for people in whose headers a crawler is named: those with Electron, and iMessage.
const programs = "(^|[^a-z0-9_-])Electron/|facebookexternalhit/[^ ]* Facebot Twitterbot"

// ServerConfig writes a configuration of a web server that refuses crawlers.
func ServerConfig(w io.Writer, format string, r *answer.Refusals) {
	fmt.Fprintf(w, serverComment, format)
	except := programs
	if len(r.Except) > 0 {
		except += "|" + strings.Join(headerPatterns(r.Except), "|")
	}
	patterns := headerPatterns(r.Names)
	switch format {
	case "nginx":
		fmt.Fprint(w, "# Include this file in http{}, and write in each server{}: if ($robots_blocked) { return 403; }\n")
		fmt.Fprintf(w, "map $http_user_agent $robots_crawler {\n    default 0;\n    \"~*%s\" 0;\n", except)
		for _, p := range patterns {
			fmt.Fprintf(w, "    \"~*%s\" 1;\n", p)
		}
		fmt.Fprint(w, "}\nmap $robots_crawler$uri $robots_blocked {\n    default 0;\n    1/robots.txt 0;\n    ~^1 1;\n}\n")
	case "apache":
		fmt.Fprint(
			w,
			"# Include this file in each <VirtualHost>. It needs mod_rewrite.\nRewriteEngine On\nRewriteCond %{REQUEST_URI} !=/robots.txt\n",
		)
		fmt.Fprintf(w, "RewriteCond %%{HTTP_USER_AGENT} \"!%s\" [NC]\n", except)
		for i, p := range patterns {
			flags := "NC,OR"
			if i == len(patterns)-1 {
				flags = "NC"
			}
			fmt.Fprintf(w, "RewriteCond %%{HTTP_USER_AGENT} \"%s\" [%s]\n", p, flags)
		}
		if len(patterns) == 0 {
			fmt.Fprint(w, "RewriteCond no yes\n")
		}
		fmt.Fprint(w, "RewriteRule ^ - [F]\n")
	case "caddy":
		fmt.Fprint(w, "# Import this file at the beginning of the Caddyfile, and write in each site: import robots_blocked\n(robots_blocked) {\n")
		if len(patterns) > 0 {
			fmt.Fprintf(w, "\t@robots_blocked {\n\t\tnot path /robots.txt\n\t\tnot header_regexp User-Agent `(?i)%s`\n", except)
			fmt.Fprintf(w, "\t\theader_regexp User-Agent `(?i)%s`\n\t}\n\trespond @robots_blocked 403\n", strings.Join(patterns, "|"))
		}
		fmt.Fprint(w, "}\n")
	case "haproxy":
		fmt.Fprint(w, "# Write these lines in each frontend.\n")
		fmt.Fprintf(w, "acl robots_program req.fhdr(User-Agent) -m reg -i '%s'\n", except)
		for _, p := range patterns {
			fmt.Fprintf(w, "acl robots_crawler req.fhdr(User-Agent) -m reg -i '%s'\n", p)
		}
		if len(patterns) > 0 {
			fmt.Fprint(w, "http-request deny deny_status 403 if robots_crawler !robots_program !{ path /robots.txt }\n")
		}
	}
}

// mostPattern limits a pattern, in bytes: nginx accepts words of 4,096.
const mostPattern = 1500

// headerPatterns returns regular expressions, without backslashes, that match a User-Agent header in which
// crawlers.Sender finds one of the names, regardless of case. A name in an address, one after a word such
// as "like", and one in a comment without a version do not count.
func headerPatterns(names []string) (patterns []string) {
	for len(names) > 0 {
		n := 1
		for length := len(names[0]); n < len(names) && length+len(names[n]) < mostPattern; n++ {
			length += len(names[n]) + len("[].|")
		}
		list := strings.ReplaceAll(strings.Join(names[:n], "|"), ".", "[.]")
		before := "(^|[^a-z ] |compatible |[^a-z0-9 _./@(-]|[^a-z0-9.:/-][a-z]+/)"
		after := "([^a-z0-9_.@(-]|[.][^a-z]|[.]?$)"
		patterns = append(patterns, before+"("+list+")"+after+"|[(]("+list+")/")
		names = names[n:]
	}
	return patterns
}
