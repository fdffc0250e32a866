"""Read and write what is kept on disks: bounded when read, whole or not at all when written, told by findings."""
