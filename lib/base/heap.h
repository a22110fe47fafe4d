// The heap as the system sees it.
#pragma once

namespace prefetch::base {

// Keeps the heap of a program small that lives long. All threads, which mostly wait, share one heap, since
// each further one would hold a megabyte of free memory. Blocks over 128 KiB are apart from it, so that they
// go back to the system at once; by itself, glibc stops that after the first large block. Call it before the
// first thread starts.
void LimitHeap();

// Returns unused heap memory to the system. free() does so only at the heap's end; the rest of a burst of
// work would count against the pod's memory for as long as it lives. Costs about a millisecond and,
// later, a page fault for each page that is used again: for the calm after work, not for a loop. Any
// thread.
void ReturnFreeMemory();

}  // namespace prefetch::base
