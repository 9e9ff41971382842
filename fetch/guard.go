package fetch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A Guard decides which addresses can be connected to. It checks the address when the
// connection is made, whatever URL, redirect or DNS response led there. The zero value refuses
// addresses that are not on the public internet (IANA's special-purpose registries, multicast,
// IPv6 outside 2000::/3), cloud metadata services, and ports reserved for other protocols.
type Guard struct {
	// AllowPrivate permits private networks: loopback, 10/8, 172.16/12, 192.168/16, 100.64/10
	// and fc00::/7. Link-local addresses and cloud metadata services in these networks stay
	// refused.
	AllowPrivate bool
	// AllowLoopback permits 127/8 and ::1. It is meant for tests.
	AllowLoopback bool
	// AllowNAT64 judges addresses in 64:ff9b::/96 by the IPv4 address in them, for hosts that
	// use DNS64. Otherwise they are refused.
	AllowNAT64 bool
	// Deny refuses further networks, such as the operator's public addresses.
	Deny []netip.Prefix
	// Allow permits addresses at exactly these ports in any network, for the operator's own
	// servers. Cloud metadata services and ports of other protocols stay refused.
	Allow []netip.AddrPort
	// Ports, if not nil, refuses all other ports, except in Allow. A service for strangers
	// sets it, as a redirect can lead to any port.
	Ports []uint16
}

// reserved is a network that is refused by default.
type reserved struct {
	net  netip.Prefix
	name string
	kind reach
}

// reach is the setting that permits a reserved network.
type reach uint8

const (
	reachNever reach = iota
	reachPrivate
	reachLoopback
)

// metadata lists the addresses at which clouds provide the configuration and credentials of a
// machine. No setting permits them: most are in networks that AllowPrivate opens, Azure's is
// public. The sources are the vendors' documentation, else cloud-init.
var metadata = sync.OnceValue(func() []service {
	return []service{
		// AWS, docs.aws.amazon.com: AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
		// (also the address of Azure, Google, Oracle, DigitalOcean and OpenStack),
		// AmazonECS/latest/developerguide/task-iam-roles.html,
		// eks/latest/userguide/pod-id-agent-setup.html
		{address("169.254.169.254"), "instance metadata"},
		{address("fd00:ec2::254"), "AWS instance metadata"},
		{address("169.254.170.2"), "AWS ECS task credentials"},
		{address("169.254.170.23"), "AWS EKS Pod Identity"},
		{address("fd00:ec2::23"), "AWS EKS Pod Identity"},
		// cloud.google.com/compute/docs/metadata/querying-metadata, for machines with IPv6
		// only
		{address("fd20:ce::254"), "Google Cloud metadata"},
		// learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
		{address("168.63.129.16"), "Azure WireServer"},
		// www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata; for IPv6
		// cloud-init's DataSourceAliYun
		{address("100.100.100.200"), "Alibaba Cloud metadata"},
		{address("fd00:100::100:200"), "Alibaba Cloud metadata"},
		// docs.oracle.com/en/cloud/cloud-at-customer/occ-get-started/retrieve-predefined-instance-metadata.html;
		// for IPv6 oracle/oci-python-sdk, instance_principals_security_token_signer.py
		{address("192.0.0.192"), "Oracle Cloud Classic metadata"},
		{address("fd00:c1::a9fe:a9fe"), "Oracle Cloud metadata"},
		// docs.cloud-init.io/en/latest/reference/datasources: akamai.html, scaleway.html
		{address("fd00:a9fe:a9fe::1"), "Akamai Cloud metadata"},
		{address("fd00:42::42"), "Scaleway metadata"},
	}
})

type service struct {
	address netip.Addr
	name    string
}

// specials are the networks that are refused: IANA's special-purpose registries (RFC 6890 and
// its updates) without the globally reachable anycast services (192.31.196/24, 192.52.193/24,
// 192.175.48/24, 2620:4f:8000::/48). 2001::/23 is refused as a whole: its few reachable
// addresses serve no web sites. The first entry that contains an address names it.
var specials = sync.OnceValue(func() []reserved {
	return []reserved{
		{prefix("0.0.0.0/8"), "this network", reachNever}, // RFC 791
		{prefix("10.0.0.0/8"), "private", reachPrivate},   // RFC 1918
		{prefix("100.64.0.0/10"), "shared address space", reachPrivate},
		{prefix("127.0.0.0/8"), "loopback", reachLoopback},
		{prefix("169.254.0.0/16"), "link-local", reachNever},
		{prefix("172.16.0.0/12"), "private", reachPrivate},
		{prefix("192.0.0.0/24"), "protocol assignments", reachNever},
		{prefix("192.0.2.0/24"), "documentation", reachNever},
		{prefix("192.88.99.0/24"), "6to4 relay", reachNever},
		{prefix("192.168.0.0/16"), "private", reachPrivate},
		{prefix("198.18.0.0/15"), "benchmarking", reachNever},
		{prefix("198.51.100.0/24"), "documentation", reachNever},
		{prefix("203.0.113.0/24"), "documentation", reachNever},
		{prefix("224.0.0.0/4"), "multicast", reachNever},
		{prefix("255.255.255.255/32"), "broadcast", reachNever},
		{prefix("240.0.0.0/4"), "reserved", reachNever},
		{prefix("::/128"), "unspecified", reachNever},
		{prefix("::1/128"), "loopback", reachLoopback},
		{prefix("::/96"), "IPv4-compatible", reachNever},
		{prefix("64:ff9b::/96"), "NAT64", reachNever},
		{prefix("64:ff9b:1::/48"), "local NAT64", reachNever},
		{prefix("100::/64"), "discard-only", reachNever},
		{prefix("2001::/32"), "Teredo", reachNever},
		{prefix("2001::/23"), "protocol assignments", reachNever},
		{prefix("2001:db8::/32"), "documentation", reachNever},
		{prefix("2002::/16"), "6to4", reachNever},
		{prefix("3fff::/20"), "documentation", reachNever},
		{prefix("5f00::/16"), "segment routing", reachNever},
		{prefix("fc00::/7"), "private", reachPrivate},
		{prefix("fe80::/10"), "link-local", reachNever},
		{prefix("fec0::/10"), "site-local", reachNever},
		{prefix("ff00::/8"), "multicast", reachNever},
	}
})

// global contains all IPv6 addresses that IANA assigns.
var (
	global = prefix("2000::/3")
	nat64  = prefix("64:ff9b::/96")
)

// serviceOf returns the metadata service at an address, "" for none.
func serviceOf(a netip.Addr) string {
	for _, s := range metadata() {
		if s.address == a {
			return s.name
		}
	}
	return ""
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func address(s string) netip.Addr  { return netip.MustParseAddr(s) }

// A RefusedError reports that the Guard refuses an address or a port.
type RefusedError struct {
	Address netip.AddrPort
	Why     string
	port    bool
}

// Error returns what was refused, and why.
func (e *RefusedError) Error() string {
	if !e.Address.Addr().IsValid() {
		return "refused: " + e.Why
	}
	return fmt.Sprintf("%s is refused: %s", e.Address, e.Why)
}

func (e *RefusedError) cause() Cause {
	if e.port {
		return PortRefused
	}
	return AddressRefused
}

// Check returns a *RefusedError if the address or the port is refused.
func (g Guard) Check(at netip.AddrPort) error {
	if err := g.checkPort(at); err != nil {
		return err
	}
	if why := g.reserved(at.Addr()); why != "" && !g.allows(at) {
		return &RefusedError{Address: at, Why: why}
	}
	return nil
}

// allows reports whether an address is in Allow.
func (g Guard) allows(at netip.AddrPort) bool {
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	return serviceOf(at.Addr()) == "" && slices.Contains(g.Allow, at)
}

// checkName is Check for a host that a proxy resolves: it refuses literal addresses, names of
// this machine (RFC 6761 section 6.3), and ports.
func (g Guard) checkName(host string, port uint16) error {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return g.Check(netip.AddrPortFrom(address("127.0.0.1"), port))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.Check(netip.AddrPortFrom(ip.Unmap(), port))
	}
	return g.checkPort(netip.AddrPortFrom(netip.Addr{}, port))
}

// checkPort returns a *RefusedError for a port that is reserved for another protocol or not in
// Ports.
func (g Guard) checkPort(at netip.AddrPort) error {
	own := func(a netip.AddrPort) bool { return a == at || !at.Addr().IsValid() && a.Port() == at.Port() }
	if g.Ports != nil && !slices.Contains(g.Ports, at.Port()) && !slices.ContainsFunc(g.Allow, own) {
		return &RefusedError{Address: at, Why: fmt.Sprintf("port %d is not allowed", at.Port()), port: true}
	}
	if slices.Contains(badPorts, at.Port()) {
		return &RefusedError{Address: at, Why: fmt.Sprintf("port %d is not allowed (reserved for another protocol)", at.Port()), port: true}
	}
	return nil
}

// reserved returns why an address is refused, "" if it is not.
func (g Guard) reserved(a netip.Addr) string {
	if !a.IsValid() {
		return "not an address"
	}
	if a.Zone() != "" {
		return "it has a zone, so it is local"
	}
	a = a.Unmap() // the system connects to the IPv4 address
	if s := serviceOf(a); s != "" {
		return "it is a cloud metadata address (" + s + ")"
	}
	for _, p := range g.Deny {
		if p.Contains(a) {
			return "its network " + p.String() + " is denied"
		}
	}
	if g.AllowNAT64 && nat64.Contains(a) {
		b := a.As16()
		return g.reserved(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, s := range specials() {
		if !s.net.Contains(a) {
			continue
		}
		switch {
		case s.kind == reachPrivate && g.AllowPrivate, s.kind == reachLoopback && (g.AllowPrivate || g.AllowLoopback):
			return ""
		}
		return "its network " + s.net.String() + " is special (" + s.name + ")"
	}
	if a.Is6() && !global.Contains(a) {
		return "it is outside 2000::/3, the public addresses of IPv6"
	}
	return ""
}

// Control checks the address that a net.Dialer is about to connect to; use it as the dialer's
// Control. Networks other than TCP are refused. It must not be used with a proxy, whose
// address is all it would see.
func (g Guard) Control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return &RefusedError{Why: "its network is " + network + ", not TCP"}
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{Why: fmt.Sprintf("%q is not an address and a port", address)}
	}
	return g.Check(at)
}

// badPorts are the ports that browsers refuse (Fetch standard, "bad port"), because a server
// of another protocol could misread an HTTP request, without those of FTP.
var badPorts = []uint16{
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
	111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
	540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
	6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}
