//===- hand_written_v4.cpp - Plain loops for x86-64-v4 --------------------===//
#define NAME(kernel) kernel##_v4
#include "hand_written.inc"
