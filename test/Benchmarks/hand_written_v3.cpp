//===- hand_written_v3.cpp - Plain loops for x86-64-v3 --------------------===//
#define NAME(kernel) kernel##_v3
#include "hand_written.inc"
