//===- ZipTests.cpp - Damaged archives and arrays -------------------------===//
#include "lib/Runtime/Data/Npy.h"
#include "lib/Runtime/Data/Zip.h"
#include "test/Unit/Data/MemorySource.h"
#include "test/Unit/Support/Archive.h"
#include "test/Unit/Support/TinyProgram.h"
#include <functional>
#include <gtest/gtest.h>

namespace zero {
namespace {

constexpr size_t kData = 10, kDirectory = 30 + 5 + kData, kEnd = kDirectory + 46 + 5;

template <typename T> void set(std::string &bytes, size_t at, T value) { std::memcpy(bytes.data() + at, &value, sizeof value); }

/// Opens an archive of one member and reads it; the first error.
std::string errorOf(const std::string &archive, uint64_t reads = UINT64_MAX) {
  test::MemorySource source(archive, reads);
  auto members = listZip(source);
  if (!members.ok())
    return members.status().message();
  const ZipMember &member = members->front();
  Status checked = member.method == 0 ? checkStoredZipMember(source, member) : Status();
  auto bytes = readZipMember(source, member);
  // Both ways of checking a stored member say the same.
  if (reads == UINT64_MAX && !checked.ok())
    EXPECT_EQ(checked.message(), bytes.ok() ? "" : bytes.status().message());
  if (!checked.ok())
    return checked.message();
  return bytes.ok() ? "" : bytes.status().message();
}

TEST(Zip, NamesEachDamage) {
  // A zip64 locator before the end, which points to `offset`; the end says that it is needed.
  auto locate = [](std::string &archive, uint64_t offset) {
    std::string locator;
    test::append<uint32_t>(locator, 0x07064b50);
    test::append<uint32_t>(locator, 0);
    test::append<uint64_t>(locator, offset);
    test::append<uint32_t>(locator, 1);
    set<uint16_t>(archive, kEnd + 10, 0xffff);
    archive.insert(kEnd, locator);
  };
  // Four more bytes at the end, as a comment.
  auto comment = [](std::string &archive, uint32_t bytes) {
    set<uint16_t>(archive, archive.size() - 2, 4);
    test::append<uint32_t>(archive, bytes);
  };
  const struct {
    const char *message;
    std::function<void(std::string &)> damage;
  } faults[] = {
      {"it is no zip archive: it has 21 bytes", [](std::string &a) { a.resize(21); }},
      {"it is no zip archive, or cut off: its directory is missing", [](std::string &a) { set<uint32_t>(a, kEnd, 0); }},
      {"the archive is damaged: its zip64 locator is missing", [](std::string &a) { set<uint16_t>(a, kEnd + 10, 0xffff); }},
      {"its zip64 locator is missing",
       [](std::string &a) {
         a = a.substr(kEnd);
         set<uint16_t>(a, 10, 0xffff);
       }},
      {"its zip64 record is missing", [&](std::string &a) { locate(a, 0); }},
      {"its zip64 record is cut off",
       [&](std::string &a) {
         locate(a, kEnd + 20 + 22);
         comment(a, 0x06064b50);
       }},
      {"its directory lies outside the file", [](std::string &a) { set<uint32_t>(a, kEnd + 16, 0xfffffff0); }},
      {"entry 1 of its directory is missing", [](std::string &a) { set<uint16_t>(a, kEnd + 10, 2); }},
      {"its directory is cut off", [](std::string &a) { set<uint16_t>(a, kDirectory + 28, 6); }},
      {"an extra field of 'x' is cut off",
       [](std::string &a) {
         set<uint16_t>(a, kDirectory + 28, 1);
         set<uint16_t>(a, kDirectory + 30, 4);
       }},
      {"the zip64 field of 'x' is cut off",
       [](std::string &a) {
         set<uint16_t>(a, kDirectory + 28, 1);
         set<uint16_t>(a, kDirectory + 30, 4);
         set<uint32_t>(a, kDirectory + 24, 0xffffffff);
         set<uint32_t>(a, kDirectory + 47, 1); // id 1, no bytes
       }},
      {"member 'x.npy' is encrypted", [](std::string &a) { set<uint16_t>(a, kDirectory + 8, 1); }},
      {"uses compression method 12; stored and deflated ones can be read",
       [](std::string &a) { set<uint16_t>(a, kDirectory + 10, 12); }},
      {"the header of 'x.npy' is missing", [](std::string &a) { set<uint32_t>(a, kDirectory + 42, 1); }},
      {"the header of 'x.npy' is cut off",
       [&](std::string &a) {
         set<uint32_t>(a, kDirectory + 42, static_cast<uint32_t>(a.size()));
         comment(a, 0x04034b50);
       }},
      {"'x.npy' is cut off", [](std::string &a) { set<uint32_t>(a, kDirectory + 20, 1 << 20); }},
      {"'x.npy' is stored with two sizes", [](std::string &a) { set<uint32_t>(a, kDirectory + 24, 11); }},
      {"'x.npy' claims 1048576 bytes from 10",
       [](std::string &a) {
         set<uint16_t>(a, kDirectory + 10, 8);
         set<uint32_t>(a, kDirectory + 24, 1 << 20);
       }},
      {"'x.npy' does not inflate to its 10 bytes", [](std::string &a) { set<uint16_t>(a, kDirectory + 10, 8); }},
      {"the checksum of 'x.npy' does not fit", [](std::string &a) { a[35] = '!'; }},
  };
  const std::string good = test::zip({{"x.npy", "0123456789"}});
  ASSERT_EQ(good.size(), kEnd + 22);
  ASSERT_EQ(errorOf(good), "");
  for (const auto &fault : faults) {
    std::string archive = good;
    fault.damage(archive);
    std::string message = errorOf(archive);
    EXPECT_NE(message.find(fault.message), std::string::npos) << "'" << fault.message << "' but got '" << message << "'";
  }
}

TEST(Zip, AFileThatBecomesShorterWhileItIsCheckedIsAnError) {
  for (bool deflate : {false, true}) {
    const std::string archive = test::zip({{"x.npy", "0123456789"}}, deflate);
    uint64_t reads = 0;
    for (; reads < 100 && errorOf(archive, reads) != ""; ++reads)
      EXPECT_EQ(errorOf(archive, reads), "became shorter") << reads;
    EXPECT_EQ(reads, deflate ? 4u : 5u); // its end, directory, header and bytes, stored ones for the checksum, too
  }
}

TEST(Npy, NamesEachDamage) {
  const std::string good = test::npy("<f4", "2,", std::string(8, '\0'));
  ASSERT_TRUE(parseNpy(good).ok());
  auto errorOfArray = [](const std::string &bytes) {
    auto array = parseNpy(bytes);
    return array.ok() ? "" : array.status().message();
  };
  std::string version = good, cut = good.substr(0, 11), list = good, word = test::npy("<fx", "2,", std::string(8, '\0'));
  version[6] = 9;
  cut[6] = 2;
  list.replace(list.find("'<f4'"), 5, "[<f4]");
  EXPECT_EQ(errorOfArray(version), "its format version is 9; 1 to 3 can be read");
  EXPECT_EQ(errorOfArray(cut), "its header is cut off");
  EXPECT_EQ(errorOfArray(good.substr(0, 40)), "its header is cut off");
  EXPECT_EQ(errorOfArray(word), "its type '<fx' cannot be read");
  EXPECT_NE(errorOfArray(list).find("its type is not a simple one"), std::string::npos) << errorOfArray(list);
}

} // namespace
} // namespace zero
