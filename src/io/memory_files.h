// A FileSystem in memory, for tests: behaves as a disk does, folders included, and can lose what
// was not synced, as a machine that loses power.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "io/file.h"

namespace headwater {

class MemoryFileSystem : public FileSystem {
 public:
  Result<std::unique_ptr<ByteSource>> open_read(const std::string& path) override;
  Result<std::unique_ptr<RandomAccessFile>> open_random(const std::string& path) override;
  Result<FileBytes> map(const std::string& path) override;
  Result<std::unique_ptr<ByteSink>> open_write(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& directory) override;
  Result<> make_directories(const std::string& path) override;
  Result<> rename(const std::string& from, const std::string& to) override;
  Result<> remove(const std::string& path) override;

  // Makes the folders and the file, synced.
  void put(const std::string& path, std::string content);
  // Every file falls back to what it held when its sink was last closed; files never closed vanish.
  void lose_unsynced();
  // All files by path.
  std::map<std::string, std::string> files() const;

 private:
  struct File;
  class Source;
  class Random;
  class Sink;
  Result<std::shared_ptr<File>> find(const std::string& path) const;
  bool is_directory(const std::string& path) const;

  mutable std::mutex mutex_;  // over the two members below and the content of every file
  std::map<std::string, std::shared_ptr<File>> files_;
  std::set<std::string> directories_;  // besides "." and "/", which always exist
};

}  // namespace headwater
