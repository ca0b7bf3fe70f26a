"""Names the machine and what ran on it."""
import os
import platform
import subprocess


def _first(path, key):
    with open(path) as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith(key)), "unknown")


def _git(root, *arguments):
    result = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def describe(root):
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = platform.system()
    caches = []
    for index in range(8):
        folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
        if os.path.isdir(folder):
            level, kind, size = (open(f"{folder}/{name}").read().strip() for name in ("level", "type", "size"))
            if kind != "Instruction":
                caches.append(f"L{level} {size}")
    return {"cpu": _first("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)), "caches": caches,
            "memory_bytes": int(_first("/proc/meminfo", "MemTotal").split()[0]) * 1024, "kernel": platform.release(), "system": system,
            "virtual": "hypervisor" in _first("/proc/cpuinfo", "flags").split(), "commit": _git(root, "rev-parse", "HEAD"),
            "uncommitted_changes": bool(_git(root, "status", "--porcelain"))}
