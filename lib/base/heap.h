// The heap as the system sees it.
#pragma once

namespace prefetch::base {

// Keeps the heap small for a program that lives long: one heap for all threads, which mostly wait, since each
// further one would hold a megabyte of free memory; and blocks over 128 KiB apart from it, so that they go
// back to the system at once. By itself, glibc stops that after the first large block. Before the first
// thread.
void LimitHeap();

// Returns unused heap memory to the system. free() does so only at the heap's end; the rest of a burst of
// work would count against the pod's memory for as long as it lives. Costs about a millisecond and,
// later, a page fault for each page that is used again: for the calm after work, not for a loop. Any
// thread.
void ReturnFreeMemory();

}  // namespace prefetch::base
