"""Rust names of a real program, against c++filt."""

import re
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, limit, need_program

# What is hard to say: generic in everything, letters beyond ASCII, closures in methods of traits.
PROGRAM = """
use std::fmt::Debug;
use std::hint::black_box;
trait Speak { fn speak(&self) -> String; }
struct Gödel<T, const N: usize>([T; N]);
impl<T: Debug, const N: usize> Speak for Gödel<T, N> {
    #[inline(never)] fn speak(&self) -> String { self.0.iter().map(|x| format!("{:?}", x)).collect() }
}
struct Constants<const B: bool, const C: char, const I: i8>;
impl<const B: bool, const C: char, const I: i8> Constants<B, C, I> {
    #[inline(never)] fn get(&self) -> i32 { black_box(I as i32) }
}
#[inline(never)] fn same<T>(t: T) -> T { black_box(t) }
extern "C" fn outside(p: *const u8, q: *mut [i64; 3]) -> bool { p as usize == q as *mut u8 as usize }
mod größe { #[inline(never)] pub fn 東京(x: u8) -> u8 { std::hint::black_box(x) } }
fn main() {
    println!("{} {}", Gödel([1u8, 2]).speak(), Gödel(["x"; 3]).speak());
    same(outside as extern "C" fn(*const u8, *mut [i64; 3]) -> bool);
    same(Some((1u8, 'c', [0.5f32; 2], "s", ())));
    same(unsafe { std::mem::transmute::<usize, for<'a, 'b> unsafe fn(&'a u8, &'b mut u8) -> &'a u8>(8) });
    let numbers: Box<dyn Iterator<Item = u32> + Send> = Box::new(vec![1, 2].into_iter());
    println!("{}", same(numbers).count() + Constants::<true, 'x', -5>.get() as usize + größe::東京(3) as usize);
}
"""


def shortened(name):
    """c++filt also tells hashes of crates and types of constants."""
    name = re.sub(r"\[(?:0|[0-9a-f]{9,16})\]", "", name)
    return re.sub(r"(\d|true|false|'): (?:[iu](?:8|16|32|64|128|size)|bool|char)\b", r"\1", name)


@limit(300)
def test_names_are_those_of_cxxfilt():
    rustc = need_program("rustc")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "m.rs"
        source.write_text(PROGRAM, encoding="utf-8")
        subprocess.run([rustc, "-Awarnings", "-Csymbol-mangling-version=v0", "-o", f"{folder}/m", source], check=True, capture_output=True)
        listed = subprocess.run([need_program("nm"), f"{folder}/m"], capture_output=True, text=True, check=True).stdout
        names = sorted({line.split()[-1] for line in listed.splitlines() if re.search(r" _R| _ZN.*17h[0-9a-f]{16}E", line)})
    assert len(names) > 300, len(names)
    text = "\n".join(names) + "\n"
    ours = subprocess.run([BUILD / "tests" / "hammer" / "demangle"], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    theirs = subprocess.run([need_program("c++filt"), "-s", "rust"], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    for name, our, their in zip(names, ours, theirs, strict=True):
        assert our == shortened(re.sub(r"::h[0-9a-f]{16}$", "", their)), f"{name}\n{our}\n{their}"
    for part in ("m::größe::東京", "<m::Gödel<u8, 2> as m::Speak>::speak::{closure#0}", "<m::Constants<true, 'x', -5>>::get",
                 "m::same::<for<'a, 'b> unsafe fn(&'a u8, &'b mut u8) -> &'a u8>"):
        assert part in ours, part
