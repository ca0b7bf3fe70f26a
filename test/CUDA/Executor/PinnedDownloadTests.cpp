//===- PinnedDownloadTests.cpp - What comes back from a GPU, in pieces ----===//
#include "lib/Runtime/Executor/PinnedDownload.h"
#include "test/CUDA/Support/OnGpu.h"
#include <atomic>
#include <chrono>
#include <thread>

namespace zero {
namespace {

class PinnedDownloadOnGpu : public test::OnGpu {
protected:
  PinnedDownloadOnGpu() : OnGpu(4 * kPiece) {}
  void SetUp() override {
    OnGpu::SetUp();
    if (!device)
      return;
    for (uint8_t piece = 0; piece < 4; ++piece)
      fill(piece, static_cast<uint8_t>(piece + 1));
    auto created = PinnedDownload::create(*device, kPiece);
    ASSERT_TRUE(created.ok()) << created.status().message();
    download = std::move(*created);
  }
  void fill(unsigned piece, uint8_t value) {
    ASSERT_TRUE(device->fillAsync(at(piece), value, kPiece, compute->stream()).ok());
    compute->finish();
  }
  const std::byte *read(unsigned piece, uint64_t size, uint64_t following) {
    auto bytes = download->read(at(piece), size, following);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    return bytes.ok() ? *bytes : nullptr;
  }
  std::byte *at(unsigned piece) const { return arena->data() + piece * kPiece; }
  static void expect(const std::byte *bytes, uint64_t size, int value) {
    ASSERT_TRUE(bytes);
    EXPECT_EQ(static_cast<int>(bytes[0]), value);
    EXPECT_EQ(static_cast<int>(bytes[size - 1]), value);
  }

  static constexpr uint64_t kPiece = 1 << 16;
  std::unique_ptr<PinnedDownload> download;
};

TEST_F(PinnedDownloadOnGpu, PiecesComeInOrder) {
  expect(read(0, kPiece, 2 * kPiece + 100), kPiece, 1);
  expect(read(1, kPiece, kPiece + 100), kPiece, 2);
  expect(read(2, kPiece, 100), kPiece, 3);
  expect(read(3, 100, 0), 100, 4);
  // Elsewhere, again, and what has changed since.
  expect(read(2, 10, 0), 10, 3);
  fill(2, 9);
  expect(read(2, 10, kPiece - 10), 10, 9);
}

/// What comes next is on its way while the host has not asked for it, and leaves alone what the host reads.
TEST_F(PinnedDownloadOnGpu, TheNextPieceIsOnItsWay) {
  const std::byte *first = read(0, kPiece, kPiece), *other = first + kPiece; // the first piece of two
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  auto isThere = [&] { return std::atomic_ref(const_cast<std::byte &>(other[kPiece - 1])).load() == std::byte(2); };
  while (!isThere() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(isThere());
  expect(first, kPiece, 1);
  EXPECT_EQ(read(1, kPiece, 0), other);
}

/// What was on its way may have changed since: it is read again.
TEST_F(PinnedDownloadOnGpu, WhatIsForgottenIsReadAgain) {
  expect(read(0, kPiece, kPiece), kPiece, 1);
  fill(1, 9);
  download->forget();
  expect(read(1, kPiece, 0), kPiece, 9);
}

/// Where the next piece is asked for in part, or another one is, that is what comes.
TEST_F(PinnedDownloadOnGpu, AnotherPieceThanTheNextIsRead) {
  expect(read(0, kPiece, kPiece), kPiece, 1);
  expect(read(1, 10, 0), 10, 2);
  expect(read(0, kPiece, kPiece), kPiece, 1);
  expect(read(3, kPiece, 0), kPiece, 4);
}

} // namespace
} // namespace zero
