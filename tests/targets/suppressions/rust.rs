// SPDX-License-Identifier: GPL-2.0-or-later
//! Leaks in Rust, each at a place of its own, for the names in suppressions: boxes, collections,
//! generic functions, traits, closures, threads.
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

static HELD: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

#[inline(never)]
fn lose<T>(value: T) {
    let boxed = Box::new(value);
    HELD.store(Box::into_raw(boxed) as *mut u8, SeqCst);
    HELD.store(std::ptr::null_mut(), SeqCst);
}

#[inline(never)]
fn boxes() {
    lose([1u8; 24]);
    lose(Box::new([2u64; 4]));
    lose(Rc::new(String::from("a text of its own")));
}

#[inline(never)]
fn collections(n: usize) {
    let mut numbers = Vec::with_capacity(n);
    let mut names = HashMap::new();
    let mut sorted = BTreeMap::new();
    for i in 0..n {
        numbers.push(i);
        names.insert(i, format!("number {}", i));
        sorted.insert(format!("{:>20}", i), i);
    }
    lose(numbers);
    lose(names);
    lose(sorted);
    lose((0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(", "));
}

trait Shape {
    fn copies(&self) -> Vec<u8>;
}

struct Square<const N: usize>;

impl<const N: usize> Shape for Square<N> {
    #[inline(never)]
    fn copies(&self) -> Vec<u8> {
        vec![3u8; N * N]
    }
}

mod inner {
    pub struct Holder<T> {
        pub items: Vec<T>,
    }

    impl<T: Clone> Holder<T> {
        #[inline(never)]
        pub fn of(item: &T, n: usize) -> Self {
            Holder { items: vec![item.clone(); n] }
        }
    }
}

#[inline(never)]
fn traits() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square::<4>), Box::new(Square::<5>)];
    for shape in &shapes {
        lose(shape.copies());
    }
    lose(inner::Holder::of(&7u16, 9).items);
    lose(inner::Holder::of(&String::from("cloned"), 2));
}

#[inline(never)]
fn closures(n: usize) {
    let make = |size: usize| vec![4u32; size];
    let boxed: Box<dyn Fn(usize) -> String> = Box::new(|size| "x".repeat(size));
    lose(make(n));
    lose(boxed(n + 1));
    lose(boxed);
}

fn main() {
    let n = std::env::args().count() + 5;
    boxes();
    collections(n);
    traits();
    closures(n);
    std::thread::spawn(move || lose(vec![5u8; n])).join().unwrap();
}
