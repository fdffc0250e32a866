#!/bin/sh
# First process of a user-mode kernel: run a command there as an ordinary user without any capability.
# Words: two folders that the user must be able to read whatever is above them, and a file with the command.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/user TMPDIR=/run/user
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t devtmpfs dev /dev 2>/dev/null
exec </dev/null >/dev/console 2>&1
mkdir -p /run/modules/lib /run/kept/1 /run/kept/2
mkdir -m 1777 /run/user
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in bridge veth; do modprobe -d /run/modules $module; done
command=$(cat "$3")
mount --bind "$1" /run/kept/1
mount --bind "$2" /run/kept/2
for top in $(printf '%s\n' "$1" "$2" | cut -d/ -f2 | grep -vx usr | sort -u); do mount -t tmpfs -o mode=755 cover "/$top"; done
mkdir -p "$1" "$2"
mount --bind /run/kept/1 "$1"
mount --bind /run/kept/2 "$2"
# Where this kernel was kept from AVX, its programs must not use it; and no cache of theirs is to be written.
export NPY_DISABLE_CPU_FEATURES="AVX2 FMA3 AVX512F" OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=x86-64 NUMBA_CACHE_DIR=/run/user
setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs sh -c "$command"
echo "STATUS $?"
busybox poweroff -f
