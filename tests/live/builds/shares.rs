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
extern "C" {
    fn clock() -> i64; // of libc: µs of CPU time
}
#[inline(never)]
fn run(cpu_ms: i64) -> u64 {
    let (begin, mut n, mut sum) = (unsafe { clock() }, 40, 0u64);
    let mut now = begin;
    while now - begin < cpu_ms * 1000 {
        sum ^= black_box(alpha(n)) ^ black_box(beta(n)) ^ black_box(delta(n));
        let before = now;
        now = unsafe { clock() };
        if now - before < 25_000 {
            n *= 2;
        }
    }
    black_box(sum)
}

fn main() {
    let cpu_ms = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(5000);
    run(cpu_ms);
}
