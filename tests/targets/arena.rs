// SPDX-License-Identifier: GPL-2.0-or-later
//! usage: arena [CALLS]
//!
//! A global allocator that is no function of any library: what memtraced sees of it are Rust's own
//! __rust_alloc and its like. It counts itself, and prints what it counted.
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const ROOM: usize = 256 << 20;

struct Arena {
    room: UnsafeCell<[u8; ROOM]>,
    used: AtomicUsize,
    allocs: AtomicUsize,
    frees: AtomicUsize,
    bytes: AtomicUsize,
    live: AtomicUsize,
}

unsafe impl Sync for Arena {}

unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let align = layout.align().max(16);
        let need = layout.size() + align;
        let base = self.room.get() as usize + self.used.fetch_add(need, Relaxed);
        self.allocs.fetch_add(1, Relaxed);
        self.bytes.fetch_add(layout.size(), Relaxed);
        self.live.fetch_add(layout.size(), Relaxed);
        ((base + align - 1) & !(align - 1)) as *mut u8
    }

    unsafe fn dealloc(&self, _block: *mut u8, layout: Layout) {
        self.frees.fetch_add(1, Relaxed);
        self.live.fetch_sub(layout.size(), Relaxed);
    }
}

#[global_allocator]
static ARENA: Arena = Arena {
    room: UnsafeCell::new([0; ROOM]),
    used: AtomicUsize::new(0),
    allocs: AtomicUsize::new(0),
    frees: AtomicUsize::new(0),
    bytes: AtomicUsize::new(0),
    live: AtomicUsize::new(0),
};

// std::hint::black_box came with Rust 1.66; Debian 12 has 1.63.
fn opaque<T>(value: T) {
    unsafe { std::ptr::read_volatile(&&value) };
}

fn main() {
    let calls: usize = std::env::args().nth(1).map_or(1000, |n| n.parse().unwrap());
    let mut kept: Vec<String> = Vec::new();
    for i in 0..calls {
        let mut text = "x".repeat(i % 100);
        text.push_str("grows");
        let zeros = vec![0u8; i % 77 + 1];
        if i % 3 == 0 {
            kept.push(text);
        }
        opaque(zeros);
    }
    let count = |n: &AtomicUsize| n.load(Relaxed);
    let (allocs, frees) = (count(&ARENA.allocs), count(&ARENA.frees));
    let (bytes, live) = (count(&ARENA.bytes), count(&ARENA.live));
    // What comes after this line is the end of the process, and printing it.
    println!("{} {} {} {} {}", allocs, frees, bytes, live, kept.len());
    unsafe { libc_exit(0) }
}

extern "C" {
    #[link_name = "_exit"]
    fn libc_exit(status: i32) -> !;
}
