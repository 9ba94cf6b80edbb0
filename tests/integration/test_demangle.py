"""Names of real programs and libraries, against c++filt."""

import re
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD, limit, need_program, skip

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


def demangled(kind, text):
    return subprocess.run([BUILD / "tests" / "hammer" / "demangle", kind], input=text, capture_output=True, text=True, check=True).stdout.splitlines()


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
    ours = demangled("rust", text)
    theirs = subprocess.run([need_program("c++filt"), "-s", "rust"], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    for name, our, their in zip(names, ours, theirs, strict=True):
        assert our == shortened(re.sub(r"::h[0-9a-f]{16}$", "", their)), f"{name}\n{our}\n{their}"
    for part in ("m::größe::東京", "<m::Gödel<u8, 2> as m::Speak>::speak::{closure#0}", "<m::Constants<true, 'x', -5>>::get",
                 "m::same::<for<'a, 'b> unsafe fn(&'a u8, &'b mut u8) -> &'a u8>"):
        assert part in ours, part


# ---- C++ ----

# What is hard to say: pointers to members and to functions, packs, lambdas in lambdas, local classes, conversions.
CPP_PROGRAM = """
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>
namespace outer { namespace {
template <typename... T> struct Pack { template <int N, bool B> [[gnu::noinline]] long size(T...) const { return sizeof...(T) + N + B; } };
struct Convert { template <typename T> [[gnu::noinline]] operator T *() const { return nullptr; } int plain(char) const { return 1; } int field; };
template <typename T, T value> [[gnu::noinline]] T same() { return value; }
template <auto F> [[gnu::noinline]] int call(const Convert &c) { return (c.*F)('x'); }
template <typename F> [[gnu::noinline]] auto run(F f) -> decltype(f(1)) { return f(1); }
}
[[gnu::noinline]] int work(int n) {
    struct Local { [[gnu::noinline]] int get(int x) { return run([x](auto y) { return run([=](int z) { return x + y + z; }); }); } };
    static std::map<std::string, std::vector<std::function<int(int)>>> all;
    all["x"].push_back([n](int i) { return n + i; });
    return Local().get(n) + (int)Pack<char, int *, const char (&)[4]>().size<-3, true>('a', &n, "abc") + all["x"][0](n);
}
int (*chosen(int (Convert::*)(char) const, int Convert::*))(double) { return nullptr; }
int operator"" _twice(unsigned long long n) { return (int)n * 2; }
}
int main() {
    using namespace outer;
    Convert c;
    int *p = c;
    auto t = std::make_tuple(1, 'x', std::vector<int *const *>());
    return work(3) + same<int, -7>() + same<char, 'c'>() + call<&Convert::plain>(c) + (p == nullptr) + 4_twice + (int)std::get<0>(t) +
        (chosen(&Convert::plain, &Convert::field) == nullptr);
}
"""

OPENED = re.compile(r"[\w>)\]=<+*/!~&|^%-]$")
FOLLOWED = re.compile(r"( const| volatile| &&?|\[abi:\w+\])*::")


def closing(name, at):
    depth = 0
    for i in range(at, len(name)):
        depth += {"(": 1, ")": -1}.get(name[i], 0)
        if not depth:
            return i
    return len(name)


def in_short(name):
    """c++filt --no-params still tells the parameters of functions that something lies in, and those of lambdas."""
    short, at = "", 0
    while at < len(name):
        if name[at] == "(" and not name.startswith("(anonymous", at):
            end = closing(name, at)
            followed = FOLLOWED.match(name, end + 1)
            if name[:at].endswith("{lambda"):
                at = end + 1
                continue
            if followed and OPENED.search(name[:at]):
                short, at = short + "::", followed.end()
                continue
        short += name[at]
        at += 1
    return short


def as_we_write(name, symbol):
    while "> >" in name:
        name = name.replace("> >", ">>")
    if symbol.startswith(("_ZTh", "_ZTv", "_ZTc", "_ZGTt", "_ZGR")):
        return in_short(re.sub(r"#\d+ ", "", name) + "::")[:-2]
    return in_short(name)


def told_alike(our, their):
    """Expressions are "..." here, and the names that std::string and its like have of their own are always said."""
    if "std::basic_" in their and re.search(r"std::(string|[io]+stream)\b", our):
        return True
    # An unnamed type that makes its objects is named after what it lies in there.
    if "{unnamed type" in our and re.sub(r"::~?[^:]*$", "", our) == re.sub(r"::~?[^:]*$", "", their):
        return True
    parts = [re.escape(part) for part in re.split(r"decltype\(\.\.\.\)|\.\.\.", our)]
    return re.fullmatch(".*".join(parts), their) is not None


def compare_cpp(symbols):
    text = "\n".join(symbols) + "\n"
    ours = demangled("cpp", text)
    theirs = subprocess.run([need_program("c++filt"), "--no-params"], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    same = 0
    for symbol, our, their in zip(symbols, ours, theirs, strict=True):
        their = as_we_write(their, symbol)
        assert told_alike(our, their), f"{symbol}\n{our}\n{their}"
        same += our == their
    assert same > len(symbols) * 0.9, (same, len(symbols))
    return ours


def cpp_symbols(*command):
    listed = subprocess.run([need_program("nm"), *command], capture_output=True, text=True, check=True).stdout
    # c++filt itself reads no names of more than 1024 letters.
    return sorted({name for name in re.findall(r" (_Z[^\s@]+)", listed) if len(name) < 1000 and not re.search(r"17h[0-9a-f]{16}E", name)})


@limit(300)
def test_cpp_names_are_those_of_cxxfilt():
    compiler = need_program("c++")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "m.cpp"
        source.write_text(CPP_PROGRAM, encoding="utf-8")
        subprocess.run([compiler, "-std=c++17", "-O0", "-w", "-o", f"{folder}/m", source], check=True, capture_output=True)
        ours = compare_cpp(cpp_symbols(f"{folder}/m"))
    for part in ("outer::work", "outer::work::Local::get", "outer::(anonymous namespace)::same<int, -7>", "outer::operator\"\" _twice",
                 "outer::(anonymous namespace)::Pack<char, int*, char const (&) [4]>::size<-3, true>",
                 "outer::(anonymous namespace)::Convert::operator int*<int>", "outer::work::{lambda#1}::operator()"):
        assert part in ours, (part, [name for name in ours if "outer" in name])


@limit(300)
def test_names_of_the_cpp_library_are_those_of_cxxfilt():
    found = sorted(Path("/usr/lib").glob("*/libstdc++.so.6")) or sorted(Path("/usr/lib64").glob("libstdc++.so.6"))
    if not found:
        skip("there is no libstdc++.so.6 here")
    symbols = cpp_symbols("-D", "--defined-only", found[0])
    assert len(symbols) > 3000, len(symbols)
    compare_cpp(symbols)
