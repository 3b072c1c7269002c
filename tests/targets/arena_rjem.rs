// SPDX-License-Identifier: GPL-2.0-or-later
//! usage: arena-rjem [CALLS]
//!
//! jemalloc as Rust's global allocator, called as the crate tikv-jemallocator does: under its own
//! names, sized where blocks are given back. It counts itself, and prints what it counted.
use std::alloc::{GlobalAlloc, Layout};
use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

extern "C" {
    fn _rjem_malloc(size: usize) -> *mut c_void;
    fn _rjem_calloc(n: usize, size: usize) -> *mut c_void;
    fn _rjem_mallocx(size: usize, flags: c_int) -> *mut c_void;
    fn _rjem_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn _rjem_rallocx(block: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
    fn _rjem_sdallocx(block: *mut c_void, size: usize, flags: c_int);
    fn _exit(status: c_int) -> !;
}

static ALLOCS: AtomicUsize = AtomicUsize::new(0);
static FREES: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Jemalloc;

// MALLOCX_LG_ALIGN; what every block has needs no flag.
fn flags(layout: &Layout) -> c_int {
    if layout.align() <= 16 && layout.align() <= layout.size() {
        0
    } else {
        layout.align().trailing_zeros() as c_int
    }
}

fn made(size: usize) {
    ALLOCS.fetch_add(1, Relaxed);
    BYTES.fetch_add(size, Relaxed);
    LIVE.fetch_add(size, Relaxed);
}

fn dropped(size: usize) {
    FREES.fetch_add(1, Relaxed);
    LIVE.fetch_sub(size, Relaxed);
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        made(layout.size());
        match flags(&layout) {
            0 => _rjem_malloc(layout.size()) as *mut u8,
            flags => _rjem_mallocx(layout.size(), flags) as *mut u8,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        made(layout.size());
        match flags(&layout) {
            0 => _rjem_calloc(1, layout.size()) as *mut u8,
            flags => _rjem_mallocx(layout.size(), flags | 0x40) as *mut u8, // MALLOCX_ZERO
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        dropped(layout.size());
        _rjem_sdallocx(block as *mut c_void, layout.size(), flags(&layout));
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        dropped(layout.size());
        made(size);
        match flags(&Layout::from_size_align_unchecked(size, layout.align())) {
            0 => _rjem_realloc(block as *mut c_void, size) as *mut u8,
            flags => _rjem_rallocx(block as *mut c_void, size, flags) as *mut u8,
        }
    }
}

#[global_allocator]
static JEMALLOC: Jemalloc = Jemalloc;

#[repr(align(128))]
struct Wide([u8; 256]);

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
        opaque(vec![0u8; i % 77 + 1]);
        opaque(Box::new(Wide([i as u8; 256])).0[0]);
        if i % 3 == 0 {
            kept.push(text);
        }
    }
    let counts = [&ALLOCS, &FREES, &BYTES, &LIVE].map(|n| n.load(Relaxed));
    // What comes after this line is the end of the process, and printing it.
    println!("{} {} {} {} {}", counts[0], counts[1], counts[2], counts[3], kept.len());
    unsafe { _exit(0) }
}
