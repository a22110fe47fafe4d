// Which containers are there to check others' images before those start. Pure.
#pragma once

#include "manifest/image_use.h"

namespace prefetch::manifest {

// A container whose name, or whose pod's name, has one of the words by which people and controllers call such
// containers: check, precheck, preflight, prepull, prefetch, warmup, verify; apart by "-", "_" or ".", in any
// case ("image-check", "preflight-0"), or at its end ("imagecheck"). A name is all that there is to go by.
bool IsCheckContainer(const ImageUse& use);

}  // namespace prefetch::manifest
