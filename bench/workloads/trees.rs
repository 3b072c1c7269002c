// SPDX-License-Identifier: GPL-2.0-or-later
//
// Bound by the allocator: boxed trees, growing strings and maps, built and dropped: trees ROUNDS
use std::collections::BTreeMap;

struct Node {
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
    label: String,
}

fn tree(depth: u32, seed: u64) -> Option<Box<Node>> {
    if depth == 0 {
        return None;
    }
    Some(Box::new(Node {
        left: tree(depth - 1, seed * 2),
        right: tree(depth - 1, seed * 2 + 1),
        label: format!("node {}", seed),
    }))
}

fn weight(node: &Option<Box<Node>>) -> usize {
    match node {
        None => 0,
        Some(node) => weight(&node.left) + weight(&node.right) + digest(&node.label),
    }
}

fn digest(label: &str) -> usize {
    (0..30).fold(5381, |hash: usize, _| {
        label.bytes().fold(hash, |hash, byte| hash.wrapping_mul(33) ^ byte as usize)
    }) % 1000
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut sum = 0;
    for round in 0..rounds {
        sum += weight(&tree(10, round + 1));
        let mut words: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for i in 0..500 {
            words.entry(format!("word {}", i % 97)).or_default().push(i * round);
        }
        sum += words.len();
    }
    std::process::exit(if sum == 0 { 1 } else { 0 });
}
