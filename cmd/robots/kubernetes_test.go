package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A securityContext has the fields of a pod or container that the profile "restricted" checks. Nil is an unset field.
type securityContext struct {
	RunAsNonRoot             *bool             `yaml:"runAsNonRoot"`
	RunAsUser                *int              `yaml:"runAsUser"`
	AllowPrivilegeEscalation *bool             `yaml:"allowPrivilegeEscalation"`
	Privileged               bool              `yaml:"privileged"`
	ProcMount                string            `yaml:"procMount"`
	Capabilities             podCapabilities   `yaml:"capabilities"`
	SeccompProfile           podProfile        `yaml:"seccompProfile"`
	AppArmorProfile          podProfile        `yaml:"appArmorProfile"`
	SELinuxOptions           map[string]string `yaml:"seLinuxOptions"`
	WindowsOptions           struct {
		HostProcess bool `yaml:"hostProcess"`
	} `yaml:"windowsOptions"`
	Sysctls []map[string]string `yaml:"sysctls"`
}

type podCapabilities struct{ Add, Drop []string }

type podProfile struct{ Type string }

// A podContainer has the fields of a container that the profile checks.
type podContainer struct {
	Name            string
	SecurityContext securityContext  `yaml:"securityContext"`
	Ports           []map[string]any `yaml:"ports"`
	LivenessProbe   podProbe         `yaml:"livenessProbe"`
	ReadinessProbe  podProbe         `yaml:"readinessProbe"`
	StartupProbe    podProbe         `yaml:"startupProbe"`
}

type podProbe struct {
	HTTPGet   struct{ Host string } `yaml:"httpGet"`
	TCPSocket struct{ Host string } `yaml:"tcpSocket"`
}

// A podSpec has the fields of a pod that the profile checks.
type podSpec struct {
	HostNetwork         bool             `yaml:"hostNetwork"`
	HostPID             bool             `yaml:"hostPID"`
	HostIPC             bool             `yaml:"hostIPC"`
	SecurityContext     securityContext  `yaml:"securityContext"`
	Containers          []podContainer   `yaml:"containers"`
	InitContainers      []podContainer   `yaml:"initContainers"`
	EphemeralContainers []podContainer   `yaml:"ephemeralContainers"`
	Volumes             []map[string]any `yaml:"volumes"`
}

// violations returns what the profile "restricted" of the Pod Security Standards forbids in a pod
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/, for Linux).
func (p *podSpec) violations() (list []string) {
	forbid := func(violated bool, format string, args ...any) {
		if violated {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	forbid(p.HostNetwork || p.HostPID || p.HostIPC, "a namespace of the host")
	forbid(len(p.SecurityContext.Sysctls) > 0, "sysctls")
	permitted := []string{"name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
	for _, volume := range p.Volumes {
		for kind := range volume {
			forbid(!slices.Contains(permitted, kind), "a volume of the kind %s", kind)
		}
	}
	for _, c := range slices.Concat(p.Containers, p.InitContainers, p.EphemeralContainers) {
		for _, violation := range c.violations(&p.SecurityContext) {
			forbid(true, "%s: %s", c.Name, violation)
		}
	}
	forbid(len(p.Containers) == 0, "no container")
	return list
}

// violations returns what the profile forbids in a container of a pod, whose settings apply where the container has none.
func (c *podContainer) violations(pod *securityContext) (list []string) {
	forbid := func(violated bool, text string) {
		if violated {
			list = append(list, text)
		}
	}
	s := &c.SecurityContext
	isSet := func(p *bool, want bool) bool { return p != nil && *p == want }
	nonRoot := s.RunAsNonRoot
	if nonRoot == nil {
		nonRoot = pod.RunAsNonRoot
	}
	forbid(!isSet(nonRoot, true), "runAsNonRoot is not true")
	forbid(s.RunAsUser != nil && *s.RunAsUser == 0 || pod.RunAsUser != nil && *pod.RunAsUser == 0, "runAsUser is 0")
	forbid(!isSet(s.AllowPrivilegeEscalation, false), "allowPrivilegeEscalation is not false")
	forbid(!slices.Contains(s.Capabilities.Drop, "ALL"), "capabilities.drop lacks ALL")
	forbid(slices.ContainsFunc(s.Capabilities.Add, func(name string) bool { return name != "NET_BIND_SERVICE" }), "capabilities.add")
	seccomp := s.SeccompProfile.Type
	if seccomp == "" {
		seccomp = pod.SeccompProfile.Type
	}
	forbid(seccomp != "RuntimeDefault" && seccomp != "Localhost", "seccompProfile is neither RuntimeDefault nor Localhost")
	for _, of := range []*securityContext{s, pod} {
		forbid(of.Privileged, "privileged")
		forbid(of.WindowsOptions.HostProcess, "hostProcess")
		forbid(of.ProcMount != "" && of.ProcMount != "Default", "procMount")
		forbid(of.AppArmorProfile.Type == "Unconfined", "appArmorProfile")
		forbid(len(of.SELinuxOptions) > 0, "seLinuxOptions")
	}
	for _, port := range c.Ports {
		forbid(port["hostPort"] != nil && port["hostPort"] != 0, "hostPort")
	}
	for _, probe := range []podProbe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		forbid(probe.HTTPGet.Host+probe.TCPSocket.Host != "", "a probe of another host")
	}
	return list
}

// readPod returns the pod of the first deployment in YAML.
func readPod(t *testing.T, text string) *podSpec {
	t.Helper()
	var deployment struct {
		Spec struct {
			Template struct {
				Spec podSpec `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	if err := yaml.Unmarshal([]byte(text), &deployment); err != nil {
		t.Fatal(err)
	}
	return &deployment.Spec.Template.Spec
}

// TestPodSecurity: the deployment passes the profile "restricted", and would not without any of the fields that it demands.
func TestPodSecurity(t *testing.T) {
	file, err := os.ReadFile("../../docs/operating/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	if list := readPod(t, text).violations(); list != nil {
		t.Errorf("%q", list)
	}
	for _, edit := range []struct{ old, replacement, want string }{
		{"runAsNonRoot: true", "runAsNonRoot: false", "robots: runAsNonRoot is not true"},
		{"runAsNonRoot: true", "runAsUser: 65532", "robots: runAsNonRoot is not true"},
		{"runAsNonRoot: true", "{runAsNonRoot: true, runAsUser: 0}", "robots: runAsUser is 0"},
		{"allowPrivilegeEscalation: false", "", "robots: allowPrivilegeEscalation is not false"},
		{"capabilities: {drop: [ALL]}", "capabilities: {drop: [NET_RAW]}", "robots: capabilities.drop lacks ALL"},
		{"capabilities: {drop: [ALL]}", "capabilities: {drop: [ALL], add: [SYS_ADMIN]}", "robots: capabilities.add"},
		{"seccompProfile: {type: RuntimeDefault}", "seccompProfile: {type: Unconfined}", "robots: seccompProfile is neither RuntimeDefault nor Localhost"},
		{"seccompProfile: {type: RuntimeDefault}", "privileged: true", "robots: privileged"},
		{"secret: {secretName: robots-tokens}", "hostPath: {path: /etc}", "a volume of the kind hostPath"},
		{"containerPort: 8780", "containerPort: 8780, hostPort: 80", "robots: hostPort"},
		{"      containers:", "      hostNetwork: true\n      containers:", "a namespace of the host"},
		{"path: /healthz,", "path: /healthz, host: 10.0.0.1,", "robots: a probe of another host"},
	} {
		replacement := edit.replacement
		if inner, ok := strings.CutPrefix(replacement, "{"); ok { // two fields for one
			replacement = strings.Replace(strings.TrimSuffix(inner, "}"), ", ", "\n            ", 1)
		}
		edited := strings.Replace(text, edit.old, replacement, 1)
		if edited == text {
			t.Fatalf("no %q", edit.old)
		}
		if list := readPod(t, edited).violations(); !slices.Contains(list, edit.want) {
			t.Errorf("%s: %q, want %q", edit.replacement, list, edit.want)
		}
	}
}
