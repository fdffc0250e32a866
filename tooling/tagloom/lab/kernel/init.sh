#!/bin/sh
# First process of the user-mode kernel: mount, load modules, run the prober. $1 is the exchange folder.
# The root is the machine's own file system, read-only; the exchange folder is all that this kernel writes to.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t devtmpfs dev /dev 2>/dev/null
exec </dev/null >/dev/console 2>&1
mkdir -p /run/modules/lib
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in bridge veth; do modprobe -d /run/modules $module; done
mkdir /run/exchange
mount -t hostfs none /run/exchange -o "$1"
"$1/python" -I -S "$1/prober.py" /dev/ttyS0 /run/exchange
busybox poweroff -f
