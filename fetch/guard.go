package fetch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
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
	// Ports, if not nil, refuses all other ports, except in Allow. A public service
	// sets it, as a redirect can lead to any port.
	Ports []uint16
}

// A network is refused unless the setting of its kind permits it.
type network struct {
	prefix netip.Prefix
	name   string
	kind   kind
}

type kind uint8

const (
	kindNever    kind = iota
	kindMetadata      // not even Allow permits it
	kindPrivate
	kindLoopback
)

// networks lists what is refused; the first entry that contains an address names it.
//
// First the addresses at which clouds provide the configuration and credentials of a machine:
// most are in networks that AllowPrivate opens, Azure's is public. The sources are the vendors'
// documentation, else cloud-init.
//
// Then IANA's special-purpose registries (RFC 6890 and its updates) without the globally
// reachable anycast services (192.31.196/24, 192.52.193/24, 192.175.48/24, 2620:4f:8000::/48).
// 2001::/23 is refused as a whole: its few reachable addresses serve no web sites.
var networks = []network{
	// AWS, docs.aws.amazon.com: AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
	// (also the address of Azure, Google, Oracle, DigitalOcean and OpenStack),
	// AmazonECS/latest/developerguide/task-iam-roles.html,
	// eks/latest/userguide/pod-id-agent-setup.html
	{prefix("169.254.169.254/32"), "instance metadata", kindMetadata},
	{prefix("fd00:ec2::254/128"), "AWS instance metadata", kindMetadata},
	{prefix("169.254.170.2/32"), "AWS ECS task credentials", kindMetadata},
	{prefix("169.254.170.23/32"), "AWS EKS Pod Identity", kindMetadata},
	{prefix("fd00:ec2::23/128"), "AWS EKS Pod Identity", kindMetadata},
	// cloud.google.com/compute/docs/metadata/querying-metadata, for machines with IPv6
	// only
	{prefix("fd20:ce::254/128"), "Google Cloud metadata", kindMetadata},
	// learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
	{prefix("168.63.129.16/32"), "Azure WireServer", kindMetadata},
	// www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata; for IPv6
	// cloud-init's DataSourceAliYun
	{prefix("100.100.100.200/32"), "Alibaba Cloud metadata", kindMetadata},
	{prefix("fd00:100::100:200/128"), "Alibaba Cloud metadata", kindMetadata},
	// docs.oracle.com/en/cloud/cloud-at-customer/occ-get-started/retrieve-predefined-instance-metadata.html;
	// for IPv6 oracle/oci-python-sdk, instance_principals_security_token_signer.py
	{prefix("192.0.0.192/32"), "Oracle Cloud Classic metadata", kindMetadata},
	{prefix("fd00:c1::a9fe:a9fe/128"), "Oracle Cloud metadata", kindMetadata},
	// docs.cloud-init.io/en/latest/reference/datasources: akamai.html, scaleway.html
	{prefix("fd00:a9fe:a9fe::1/128"), "Akamai Cloud metadata", kindMetadata},
	{prefix("fd00:42::42/128"), "Scaleway metadata", kindMetadata},

	{prefix("0.0.0.0/8"), "this network", kindNever}, // RFC 791
	{prefix("10.0.0.0/8"), "private", kindPrivate},   // RFC 1918
	{prefix("100.64.0.0/10"), "shared address space", kindPrivate},
	{prefix("127.0.0.0/8"), "loopback", kindLoopback},
	{prefix("169.254.0.0/16"), "link-local", kindNever},
	{prefix("172.16.0.0/12"), "private", kindPrivate},
	{prefix("192.0.0.0/24"), "protocol assignments", kindNever},
	{prefix("192.0.2.0/24"), "documentation", kindNever},
	{prefix("192.88.99.0/24"), "6to4 relay", kindNever},
	{prefix("192.168.0.0/16"), "private", kindPrivate},
	{prefix("198.18.0.0/15"), "benchmarking", kindNever},
	{prefix("198.51.100.0/24"), "documentation", kindNever},
	{prefix("203.0.113.0/24"), "documentation", kindNever},
	{prefix("224.0.0.0/4"), "multicast", kindNever},
	{prefix("255.255.255.255/32"), "broadcast", kindNever},
	{prefix("240.0.0.0/4"), "reserved", kindNever},
	{prefix("::/128"), "unspecified", kindNever},
	{prefix("::1/128"), "loopback", kindLoopback},
	{prefix("::/96"), "IPv4-compatible", kindNever},
	{prefix("64:ff9b::/96"), "NAT64", kindNever},
	{prefix("64:ff9b:1::/48"), "local NAT64", kindNever},
	{prefix("100::/64"), "discard-only", kindNever},
	{prefix("2001::/32"), "Teredo", kindNever},
	{prefix("2001::/23"), "protocol assignments", kindNever},
	{prefix("2001:db8::/32"), "documentation", kindNever},
	{prefix("2002::/16"), "6to4", kindNever},
	{prefix("3fff::/20"), "documentation", kindNever},
	{prefix("5f00::/16"), "segment routing", kindNever},
	{prefix("fc00::/7"), "private", kindPrivate},
	{prefix("fe80::/10"), "link-local", kindNever},
	{prefix("fec0::/10"), "site-local", kindNever},
	{prefix("ff00::/8"), "multicast", kindNever},
}

// global contains all IPv6 addresses that IANA assigns.
var (
	global = prefix("2000::/3")
	nat64  = prefix("64:ff9b::/96")
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

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
	return fmt.Sprintf("refused: %s: %s", e.Address, e.Why)
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
	why, always := g.reserved(at.Addr())
	if why == "" || !always && slices.Contains(g.Allow, netip.AddrPortFrom(at.Addr().Unmap(), at.Port())) {
		return nil
	}
	return &RefusedError{Address: at, Why: why}
}

// checkName is Check for a host that a proxy resolves: it refuses literal addresses, names of
// this machine (RFC 6761 section 6.3), and ports.
func (g Guard) checkName(host string, port uint16) error {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return g.Check(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
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
		return &RefusedError{Address: at, Why: fmt.Sprintf("port %d is not one of the allowed ports", at.Port()), port: true}
	}
	if slices.Contains(badPorts, at.Port()) {
		return &RefusedError{Address: at, Why: fmt.Sprintf("port %d is reserved for another protocol", at.Port()), port: true}
	}
	return nil
}

// reserved returns why an address is refused, "" if it is not, and whether even Allow does not
// permit it.
func (g Guard) reserved(a netip.Addr) (why string, always bool) {
	if !a.IsValid() {
		return "not an address", false
	}
	if a.Zone() != "" {
		return "it has a zone, so it is local", false
	}
	a = a.Unmap() // the system connects to the IPv4 address
	var n network
	if i := slices.IndexFunc(networks, func(n network) bool { return n.prefix.Contains(a) }); i >= 0 {
		n = networks[i]
	}
	if n.kind == kindMetadata {
		return "it is a cloud metadata address (" + n.name + ")", true
	}
	for _, p := range g.Deny {
		if p.Contains(a) {
			return "its network " + p.String() + " is denied", false
		}
	}
	switch b := a.As16(); {
	case g.AllowNAT64 && nat64.Contains(a):
		return g.reserved(netip.AddrFrom4([4]byte(b[12:])))
	case n.kind == kindPrivate && g.AllowPrivate, n.kind == kindLoopback && (g.AllowPrivate || g.AllowLoopback):
		return "", false
	case n.name != "":
		return "its network " + n.prefix.String() + " is special (" + n.name + ")", false
	case a.Is6() && !global.Contains(a):
		return "it is outside 2000::/3, the public addresses of IPv6", false
	}
	return "", false
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
