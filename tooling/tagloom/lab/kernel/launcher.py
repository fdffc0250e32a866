"""Run a program to which ptrace answers that the processor has no extended state: `launcher.py PROGRAM [ARGUMENT ...]`.

The filter holds for the program and all it starts, needs no root, and ends with them (seccomp(2), ptrace(2)).
Runs with nothing but Python's own library; x86-64 only, the one processor that user-mode Linux runs on.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
NUMBER, ARCHITECTURE, REQUEST, REGISTERS = 0, 4, 16, 32  # struct seccomp_data: nr, arch, args[0] and args[2], low words
X86_64, PTRACE = 0xC000003E, 101  # linux/audit.h, asm/unistd_64.h
PTRACE_GETREGSET, NT_X86_XSTATE = 0x4204, 0x202  # linux/ptrace.h, linux/elf.h
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h: LD|W|ABS, JMP|JEQ|K, RET|K
REFUSE, ALLOW = 0x00050000, 0x7FFF0000  # SECCOMP_RET_ERRNO with the error in the low half, SECCOMP_RET_ALLOW


def instructions() -> bytes:
    """Return the filter: ENODEV for ptrace(PTRACE_GETREGSET, ..., NT_X86_XSTATE), everything else as ever."""
    wanted = [(ARCHITECTURE, X86_64), (NUMBER, PTRACE), (REQUEST, PTRACE_GETREGSET), (REGISTERS, NT_X86_XSTATE)]
    code = b""
    for at, (offset, value) in enumerate(wanted):
        to_the_end = 2 * (len(wanted) - at) - 1
        code += struct.pack("=HBBI", LOAD, 0, 0, offset)
        code += struct.pack("=HBBI", JUMP_IF_EQUAL, 0, to_the_end, value)
    code += struct.pack("=HBBI", RETURN, 0, 0, REFUSE | errno.ENODEV)
    return code + struct.pack("=HBBI", RETURN, 0, 0, ALLOW)


def hide_extended_state() -> None:
    """Set the filter for this process, for good. Raises OSError where the kernel has no seccomp."""
    code = instructions()
    held = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(held)))
    libc = ctypes.CDLL(None, use_errno=True)
    for option, first, second in ((PR_SET_NO_NEW_PRIVS, 1, None), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)):
        if libc.prctl(option, ctypes.c_ulong(first), second, ctypes.c_ulong(0), ctypes.c_ulong(0)):
            raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    hide_extended_state()
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - to run what it is given is its purpose
