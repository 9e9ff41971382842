package main

import "syscall"

// inside runs a program with a folder as its root, as the user of an image.
func inside(root string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
}
