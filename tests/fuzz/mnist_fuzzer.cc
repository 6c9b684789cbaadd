// MNIST's two IDX files, plain and compressed.

#include <zlib.h>

#include "services/worker/data/image_files.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

enum Form : uint8_t {
  kPlain,
  kCompressed,  // By us, so that what is inside is what the fuzzer made.
  kAsIfCompressed,
};

std::string Gzip(absl::string_view bytes) {
  z_stream stream = {};
  // 31: with gzip's header.
  CHECK(deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) ==
        Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Images(uint32_t count, uint8_t height, uint8_t width) {
  std::string idx("\0\0\x08\x03", 4);
  for (const uint32_t extent : {count, uint32_t{height}, uint32_t{width}}) {
    for (const int shift : {24, 16, 8, 0}) {
      idx += static_cast<char>(extent >> shift);
    }
  }
  return idx + std::string(size_t{count} * height * width, '\x80');
}

std::string Labels(const std::string& labels) {
  return std::string("\0\0\x08\x01\0\0\0", 7) +
         static_cast<char>(labels.size()) + labels;
}

std::string Seed(Form form, const std::string& images,
                 const std::string& labels) {
  return std::string(1, static_cast<char>(form)) + FuzzText(images) + labels;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string images = Images(2, 3, 4);
  const std::string labels = Labels("\x01\x09");
  std::string huge = Images(1, 1, 1);
  huge[5] = '\x7f';  // Millions of images, by its header.
  return {Seed(kPlain, images, labels), Seed(kCompressed, images, labels),
          Seed(kAsIfCompressed, Gzip(images), Gzip(labels)),
          Seed(kPlain, huge, labels), Seed(kPlain, images, Labels("\x01\x10"))};
}

void FuzzOne(absl::string_view input) {
  static const ScratchFolder folder;
  FuzzInput fuzz(input);
  const uint8_t form = fuzz.Byte() % 3;
  std::string images(fuzz.Text());
  std::string labels(fuzz.Rest());
  if (form == kCompressed) {
    images = Gzip(images);
    labels = Gzip(labels);
  }
  const std::string suffix = form == kPlain ? "" : ".gz";
  const std::string names[] = {"train-images-idx3-ubyte" + suffix,
                               "train-labels-idx1-ubyte" + suffix};
  folder.Write(names[0], images);
  folder.Write(names[1], labels);
  const auto data = LoadMnist(folder.path(), Split::kTrain);
  ExpectCode(data.status(),
             {absl::StatusCode::kDataLoss, absl::StatusCode::kInvalidArgument});
  if (data.ok()) {
    CHECK(data->pixels().size() ==
          size_t{data->size()} * static_cast<size_t>(data->shape().size()));
    for (const uint8_t label : data->labels()) CHECK(label < data->classes());
  }
  for (const std::string& name : names) folder.Remove(name);
}

}  // namespace paceline
