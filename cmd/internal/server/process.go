package server

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// processMetrics returns what the runtime of Go and the kernel say of this process now, by the
// names that Prometheus's own client has for them: dashboards for programs in Go show this one.
// The package runtime/metrics has some more, but makes its table at each start of the program.
func processMetrics() (list []family) {
	gauge := func(name, help string, value float64) {
		list = append(list, single(name, help, "gauge", func() float64 { return value }))
	}
	counter := func(name, help string, value float64) {
		list = append(list, single(name, help, "counter", func() float64 { return value }))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	pauses := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&pauses)
	threads, _ := runtime.ThreadCreateProfile(nil)
	gauge("go_goroutines", "Goroutines that there are.", float64(runtime.NumGoroutine()))
	gauge("go_threads", "Threads of the system that were made.", float64(threads))
	gauge("go_sched_gomaxprocs_threads", "How many threads run code of Go at a time.", float64(runtime.GOMAXPROCS(0)))
	gauge("go_gc_gomemlimit_bytes", "The limit of memory, GOMEMLIMIT.", float64(debug.SetMemoryLimit(-1)))
	gauge("go_memstats_alloc_bytes", "Bytes of objects on the heap.", float64(m.Alloc))
	counter("go_memstats_alloc_bytes_total", "Bytes of all objects that were allocated.", float64(m.TotalAlloc))
	gauge("go_memstats_buck_hash_sys_bytes", "Bytes of the tables of profiles.", float64(m.BuckHashSys))
	counter("go_memstats_frees_total", "Objects that were released.", float64(m.Frees))
	gauge("go_memstats_gc_sys_bytes", "Bytes of what the garbage collector notes.", float64(m.GCSys))
	gauge("go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", float64(m.HeapAlloc))
	gauge("go_memstats_heap_idle_bytes", "Bytes of the heap that are not in use.", float64(m.HeapIdle))
	gauge("go_memstats_heap_inuse_bytes", "Bytes of the heap that are in use.", float64(m.HeapInuse))
	gauge("go_memstats_heap_objects", "Objects on the heap.", float64(m.HeapObjects))
	gauge("go_memstats_heap_released_bytes", "Bytes of the heap that the system has again.", float64(m.HeapReleased))
	gauge("go_memstats_heap_sys_bytes", "Bytes of the heap, from the system.", float64(m.HeapSys))
	counter("go_memstats_mallocs_total", "Objects that were allocated.", float64(m.Mallocs))
	gauge("go_memstats_mcache_inuse_bytes", "Bytes in use of mcache structures.", float64(m.MCacheInuse))
	gauge("go_memstats_mcache_sys_bytes", "Bytes of mcache structures, from the system.", float64(m.MCacheSys))
	gauge("go_memstats_mspan_inuse_bytes", "Bytes in use of mspan structures.", float64(m.MSpanInuse))
	gauge("go_memstats_mspan_sys_bytes", "Bytes of mspan structures, from the system.", float64(m.MSpanSys))
	gauge("go_memstats_next_gc_bytes", "Bytes of the heap at which the next garbage collection begins.", float64(m.NextGC))
	gauge("go_memstats_other_sys_bytes", "Bytes of the runtime for the rest.", float64(m.OtherSys))
	gauge("go_memstats_stack_inuse_bytes", "Bytes of stacks in use.", float64(m.StackInuse))
	gauge("go_memstats_stack_sys_bytes", "Bytes of stacks, from the system.", float64(m.StackSys))
	gauge("go_memstats_sys_bytes", "Bytes from the system.", float64(m.Sys))
	gauge("go_memstats_last_gc_time_seconds", "When the latest garbage collection ended, in seconds since 1970.", float64(m.LastGC)/1e9)
	list = append(list, family{"go_info", "The version of Go.", "gauge", func(dst []byte, name string) []byte {
		return appendSample(dst, name, labelled("version", runtime.Version()), 1)
	}}, family{"go_gc_duration_seconds", "Pauses of the latest garbage collections.", "summary", func(dst []byte, name string) []byte {
		for i, quantile := range []string{"0", "0.25", "0.5", "0.75", "1"} {
			dst = appendSample(dst, name, labelled("quantile", quantile), pauses.PauseQuantiles[i].Seconds())
		}
		dst = appendSample(dst, name+"_sum", "", pauses.PauseTotal.Seconds())
		return appendSample(dst, name+"_count", "", float64(pauses.NumGC))
	}})

	// The rest is of Linux: where there is no /proc, it is not said.
	const hertz = 100 // of the clock that /proc counts with, USER_HZ
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// From the third field on: the second is the name of the program, which may have spaces.
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		field := func(n int) float64 { // by its number in proc_pid_stat(5)
			if n-3 >= len(f) {
				return 0
			}
			v, _ := strconv.ParseFloat(f[n-3], 64)
			return v
		}
		counter("process_cpu_seconds_total", "Seconds of CPU, of the program and of the system for it.", (field(14)+field(15))/hertz)
		gauge("process_virtual_memory_bytes", "Bytes of addresses.", field(23))
		gauge("process_resident_memory_bytes", "Bytes in memory.", field(24)*float64(os.Getpagesize()))
		if boot, ok := procNumber("/proc/stat", "btime"); ok {
			gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", boot+field(22)/hertz)
		}
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		gauge("process_open_fds", "Files and connections that are open.", float64(len(open)-1)) // without that of the folder
	}
	if most, ok := procNumber("/proc/self/limits", "Max open files"); ok {
		gauge("process_max_fds", "How many files and connections may be open.", most)
	}
	if most, ok := procNumber("/proc/self/limits", "Max address space"); ok {
		gauge("process_virtual_memory_max_bytes", "How many bytes of addresses there may be.", most)
	}
	return list
}

// procNumber returns the first number of the line of a file that begins with a word: +Inf for unlimited.
func procNumber(path, word string) (n float64, ok bool) {
	text, _ := os.ReadFile(path) // without it, nothing is said
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, word+" ")
		f := strings.Fields(rest)
		if !found || len(f) == 0 {
			continue
		}
		if f[0] == "unlimited" {
			return math.Inf(1), true
		}
		n, err := strconv.ParseFloat(f[0], 64)
		return n, err == nil
	}
	return 0, false
}
