// As shares.c.
use std::hint::black_box;

#[inline(never)]
fn work(n: u64) -> u64 {
    let mut sink = 1u64;
    for _ in 0..n * 1000 {
        sink = black_box(sink.wrapping_mul(3) + 1);
    }
    sink
}
#[inline(never)]
fn alpha(n: u64) -> u64 {
    black_box(work(5 * n)) + 1
}
#[inline(never)]
fn gamma_(n: u64) -> u64 {
    black_box(work(3 * n)) + 2
}
#[inline(never)]
fn beta(n: u64) -> u64 {
    black_box(gamma_(n)) + 3
}
#[inline(never)]
fn delta(n: u64) -> u64 {
    black_box(work(2 * n)) + 4
}
#[inline(never)]
fn run(rounds: u64) -> u64 {
    let mut sum = 0u64;
    for _ in 0..rounds {
        sum ^= black_box(alpha(2500)) ^ black_box(beta(2500)) ^ black_box(delta(2500));
    }
    black_box(sum)
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(100);
    run(rounds);
}
