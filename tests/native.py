"""Libraries with known chains of calls, in several languages: tests/targets/chain.*."""

import subprocess
from pathlib import Path

from harness import TARGETS, need_program

# How each is built, and what its functions are called: spin, sleep, leaf, then middle and outer.
LANGUAGES = {
    "c": (["cc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC"],
          {"spin": ["chain_spin"], "sleep": ["chain_sleep"], "leaf": ["chain_leaf"], "outer": ["chain_middle", "chain_outer"]}),
    "cpp": (["c++", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC"],
            {"spin": ["links::Link<int>::spin"], "sleep": ["links::Link<int>::sleep"],
             "leaf": ["links::Link<int>::leaf", "chain_leaf"], "outer": ["links::Link<int>::middle", "chain_outer"]}),
    "rs": (["rustc", "-O", "--crate-type=cdylib", "--crate-name=chain"],
           {"spin": ["chain::links::Link::spin"], "sleep": ["chain::links::Link::sleep"],
            "leaf": ["chain::links::Link::leaf", "chain_leaf"], "outer": ["chain::links::middle", "chain_outer"]}),
}


PYTHON = ["innermost", "between", "outermost", "<module>"]


def library(language, folder):
    """The library, built in a folder."""
    command, _ = LANGUAGES[language]
    file = Path(folder) / f"libchain-{language}.so"
    need_program(command[0])
    subprocess.run([*command, str(TARGETS / f"chain.{language}"), "-o", str(file)], check=True, capture_output=True)
    return file


def pool(folder):
    """Threads without Python: tests/targets/pool.c."""
    file = Path(folder) / "libpool.so"
    subprocess.run([need_program("cc"), "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-pthread",
                    str(TARGETS / "pool.c"), "-o", str(file)], check=True, capture_output=True)
    return file


def chain(language, sleeps):
    """Names of what the main thread is in, innermost first, without what lies between: libffi and _ctypes."""
    names = LANGUAGES[language][1]
    return [*names["sleep" if sleeps else "spin"], *names["leaf"], "innermost", *names["outer"], "between", *names["outer"],
            "outermost", "<module>"]
