// A stand-in for GoBonnieGo 1.0.10 where the original cannot be had.
//
// It is not GoBonnieGo and shares no code with it: it makes the original's system calls (buffered
// 64 KiB writes and reads, 512-byte random I/O nine to one at byte offsets, caches dropped before
// reading and every 3 s). On 2026-11-23 it was compared with the original's source, line by line:
// docs/evidence/fidelity.md says with which files, and what differs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"time"
)

const (
	block    = 64 << 10
	ioSize   = 512
	dropEach = 3 * time.Second
)

type result struct {
	WriteMBPerS float64 `json:"write_megabytes_per_second"`
	ReadMBPerS  float64 `json:"read_megabytes_per_second"`
	IOPS        float64 `json:"iops"`
}

// drop forgets the clean page cache; dirty pages stay, since nothing is synced first.
func drop() {
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		log.Fatal(err)
	}
}

// together runs work once a thread and gives the units of all of them and the time of the slowest.
func together(threads int, work func(thread int) (int64, error)) (int64, float64) {
	type part struct {
		units int64
		err   error
	}
	parts := make(chan part)
	start := time.Now()
	for thread := range make([]struct{}, threads) {
		go func(thread int) {
			units, err := work(thread)
			parts <- part{units, err}
		}(thread)
	}
	var units int64
	for range make([]struct{}, threads) {
		done := <-parts
		if done.err != nil {
			log.Fatal(done.err)
		}
		units += done.units
	}
	return units, time.Since(start).Seconds()
}

func write(path string, size int64, data []byte) (int64, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var written int64
	for written < size {
		n, err := file.Write(data)
		if err != nil {
			return 0, err
		}
		written += int64(n)
	}
	return written, nil
}

func read(path string, data []byte) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	buffer := make([]byte, block)
	var total int64
	for i := 0; ; i++ {
		n, err := file.Read(buffer)
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
		if (i+1)%127 == 0 && string(buffer[:n]) != string(data[:n]) {
			return 0, fmt.Errorf("%s: block %d is not what was written", path, i)
		}
	}
}

func random(path string, size int64, length time.Duration) (int64, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0o644)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	data, sum := make([]byte, ioSize), make([]byte, ioSize)
	end := time.Now().Add(length)
	var operations int64
	for ; time.Now().Before(end); operations++ {
		if _, err := file.Seek(rand.Int63n(size-ioSize), io.SeekStart); err != nil {
			return 0, err
		}
		if operations%10 == 0 {
			if _, err := file.Write(sum); err != nil {
				return 0, err
			}
			continue
		}
		if _, err := file.Read(data); err != nil {
			return 0, err
		}
		for i := range data {
			sum[i] ^= data[i]
		}
	}
	return operations, nil
}

func main() {
	asJSON := flag.Bool("json", false, "print JSON (always on)")
	runs := flag.Int("runs", 1, "must be 1")
	directory := flag.String("dir", os.TempDir(), "where the files go")
	sizeGiB := flag.Float64("size", 1, "GiB of all files together")
	threads := flag.Int("threads", 1, "files and goroutines")
	seconds := flag.Int("iops-duration", 15, "seconds of random I/O")
	flag.Parse()
	if *runs != 1 || !*asJSON || *threads < 1 {
		log.Fatal("the stand-in does -json -runs=1 with one thread or more")
	}
	size := int64(*sizeGiB*1024) << 20 / int64(*threads)
	parent, err := os.MkdirTemp(*directory, "standin")
	if err != nil {
		log.Fatal(err)
	}
	path := func(thread int) string { return filepath.Join(parent, fmt.Sprintf("bonnie.%d", thread)) }
	data := make([]byte, block)
	rand.New(rand.NewSource(time.Now().UnixNano())).Read(data)
	go func() {
		for ; ; time.Sleep(dropEach) {
			drop()
		}
	}()

	var found result
	written, took := together(*threads, func(t int) (int64, error) { return write(path(t), size, data) })
	found.WriteMBPerS = float64(written) / took / 1e6
	drop()
	got, took := together(*threads, func(t int) (int64, error) { return read(path(t), data) })
	found.ReadMBPerS = float64(got) / took / 1e6
	drop()
	length := time.Duration(*seconds) * time.Second
	done, took := together(*threads, func(t int) (int64, error) { return random(path(t), size, length) })
	found.IOPS = float64(done) / took

	if err := os.RemoveAll(parent); err != nil {
		log.Fatal(err)
	}
	document := map[string]any{"version": "stand-in", "results": []result{found}}
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		log.Fatal(err)
	}
}
