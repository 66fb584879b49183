// Which stages of a piece of work are done, and with which inputs: OUTPUT_DIR/adapt.json.
//
// A stage has a key: a digest of everything that its result depends on. The same key again means
// that its folder is taken as it is, or gone on with when it was interrupted. Another key means
// that the stage is made anew; what it left before is set aside under another name, never deleted.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/json.h"
#include "io/file.h"

namespace headwater {

class StageLedger {
 public:
  // kFailedPrecondition when the file is somebody else's.
  static Result<StageLedger> open(FileSystem& fs, const std::string& output_dir);

  // Nothing was made here yet: what stands in the folder is somebody else's.
  bool is_new() const { return stages_.empty(); }

  enum class State {
    kDone,         // with this key
    kInterrupted,  // begun with this key
    kNew           // nothing of this stage is there
  };
  // What is to be done for a stage whose results stand in `folder`, a path below the output folder.
  // Results of other inputs are set aside first: `moved` says where to. A folder that no stage
  // made is an error.
  Result<State> enter(const std::string& stage, const std::string& folder, const Json& inputs,
                      std::string& moved);
  // The same without touching anything.
  bool is_done(const std::string& stage, const std::string& folder, const Json& inputs) const;
  // `line`: what was made, for people.
  Result<> finish(const std::string& stage, const std::string& line, double seconds);

  std::string key(const std::string& stage) const;   // empty: the stage was not entered
  std::string line(const std::string& stage) const;  // of the finished stage
  std::string path(const std::string& folder) const { return join_path(output_dir_, folder); }

 private:
  StageLedger(FileSystem& fs, std::string output_dir)
      : fs_(&fs), output_dir_(std::move(output_dir)) {}
  Result<> write() const;

  struct Entry {
    std::string key, line;
    double seconds = 0;
    bool done = false;
  };
  FileSystem* fs_;
  std::string output_dir_;
  std::map<std::string, Entry> stages_;
};

}  // namespace headwater
