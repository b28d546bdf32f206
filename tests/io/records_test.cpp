#include "io/records.h"

#include "headlight/base/error.h"
#include "headlight/io/text_source.h"
#include "support/catch.h"
#include "support/program.h"

namespace records_test {

using namespace headlight;

namespace {

// Returns "LINE RECORD" for each row of a table.
std::string rows_of(const std::string& content, const std::string& name = "a.csv") {
  const ScratchFolder folder;
  const std::string path = folder.write(name, content);
  std::string rows;
  read_records({.path = path}, [&](const Json& record, const std::string& where) {
    REQUIRE(where.starts_with(path + ": line "));
    rows += where.substr(where.rfind(' ') + 1) + ' ' + record.dump() + '\n';
  });
  return rows;
}

}  // namespace

TEST_CASE("a table gives a record of texts for each row", "[io]") {
  CHECK(rows_of("a,b\n1,x y\n,\n") == "2 {\"a\":\"1\",\"b\":\"x y\"}\n3 {\"a\":\"\",\"b\":\"\"}\n");
  CHECK(rows_of("a,b\r\n1,2") == "2 {\"a\":\"1\",\"b\":\"2\"}\n");
  CHECK(rows_of("\xEF\xBB\xBF\"a b\"\n\n\nx\n\ny\n") == "4 {\"a b\":\"x\"}\n6 {\"a b\":\"y\"}\n");
  CHECK(rows_of("a,b\n\"1, \"\"2\"\"\n\n3\",\"\"\n4,5\n") ==
        "2 {\"a\":\"1, \\\"2\\\"\\n\\n3\",\"b\":\"\"}\n5 {\"a\":\"4\",\"b\":\"5\"}\n");
  CHECK(rows_of("a,b\n5\" long,it's\n") == "2 {\"a\":\"5\\\" long\",\"b\":\"it's\"}\n");
  CHECK(rows_of("a\tb\n1,2\t3\n", "a.TSV") == "2 {\"a\":\"1,2\",\"b\":\"3\"}\n");
  CHECK(rows_of("a,b\n") == "");
}

TEST_CASE("a table with a fault is refused by its line", "[io]") {
  const auto refused = [](const std::string& content, const std::string& message) {
    INFO(content);
    CHECK_THROWS_WITH(rows_of(content), contains_text("a.csv: line " + message));
  };
  refused("a,b\n1,2\n\n3\n", "4: expected 2 values, as in the first line, got 1");
  refused("a,b\n1,2,3\n", "2: expected 2 values");
  refused("a,b,a\n", "1: expected different names of columns, got \"a\" twice");
  refused("a,b\n\"1\"2,3\n", "2: expected a separator or a line end");
  refused("a,b\n1,\"2\n3,4\n", "2: a value begins with a double quote and has no end");
}

TEST_CASE("the key of JSON lines also names the column of the texts in a table", "[io]") {
  const ScratchFolder folder;
  const std::string path = folder.write("a.csv", "id,story\n1,\"Once,\n there\"\n2,\n3,End.\n");
  std::vector<std::string> warnings;
  CHECK(read_documents({{.path = path}}, {.jsonl = "story"}, &warnings) ==
        std::vector<std::string>{"Once,\n there", "End."});
  CHECK(warnings.empty());
  CHECK_THROWS_WITH(read_documents({{.path = path}}, {.jsonl = "text"}),
                    contains_text("a.csv: line 2: key \"text\" is missing; choose another with "
                                  "--jsonl: \"id\", \"story\""));
  CHECK(read_documents({{.path = path}}, {}, &warnings).size() == 1);  // plain text
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), contains_text("name their column with --jsonl COLUMN"));
}

}  // namespace records_test
