"""Array algorithms on graphs that several verbs share: searches, cycles, paths, trees, numbers, compiled kernels."""
