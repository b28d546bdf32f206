#include "datasets/records.h"
#include "support/test.h"

namespace records_test {
// Returns "LINE RECORD" for each row of a table.
std::string rows_of(const std::string& content, const std::string& name = "a.csv") {
  const TemporaryFolder folder;
  const std::string path = folder.write(name, content);
  std::string rows;
  read_records({.path = path}, "{}", [&](const Json& record, const std::string& where) {
    REQUIRE(where.starts_with(path + ": line "));
    rows += where.substr(where.rfind(' ') + 1) + ' ' + record.dump() + '\n';
  });
  return rows;
}

TEST_CASE("a table gives a record of texts for each row") {
  CHECK(rows_of("a,b\n1,x y\n,\n") == "2 {\"a\":\"1\",\"b\":\"x y\"}\n3 {\"a\":\"\",\"b\":\"\"}\n");
  CHECK(rows_of("a,b\r\n1,2") == "2 {\"a\":\"1\",\"b\":\"2\"}\n");
  CHECK(rows_of("\xEF\xBB\xBF\"a b\"\n\n\nx\n\ny\n") == "4 {\"a b\":\"x\"}\n6 {\"a b\":\"y\"}\n");
  CHECK(rows_of("a,b\n\"1, \"\"2\"\"\n\n3\",\"\"\n4,5\n") ==
        "2 {\"a\":\"1, \\\"2\\\"\\n\\n3\",\"b\":\"\"}\n5 {\"a\":\"4\",\"b\":\"5\"}\n");
  CHECK(rows_of("a,b\n5\" long,it's\n") == "2 {\"a\":\"5\\\" long\",\"b\":\"it's\"}\n");
  CHECK(rows_of("a\tb\n1,2\t3\n", "a.TSV") == "2 {\"a\":\"1,2\",\"b\":\"3\"}\n");
  CHECK(rows_of("a,b\n") == "");
}

TEST_CASE("the separator of a table is the one that its first row has most of") {
  CHECK(rows_of("a;b\n1,5;2\n") == "2 {\"a\":\"1,5\",\"b\":\"2\"}\n");
  CHECK(rows_of("a\tb,c\td\n1\t2\t3\n") == "2 {\"a\":\"1\",\"b,c\":\"2\",\"d\":\"3\"}\n");
  CHECK(rows_of("\"x;y;z\",b\n1,2\n") == "2 {\"x;y;z\":\"1\",\"b\":\"2\"}\n");
  CHECK(rows_of("a\n1;2\n") == "2 {\"a\":\"1;2\"}\n");
  CHECK(rows_of("a;b\n1;2\n", "a.tsv") == "2 {\"a;b\":\"1;2\"}\n");
}

TEST_CASE("a .json file has a list, records one after another, or a list in an object") {
  const auto records_of = [](const std::string& content) {
    const TemporaryFolder folder;
    const std::string path = folder.write("a.json", content);
    std::string records;
    read_records({.path = path}, "{}", [&](const Json& record, const std::string& where) {
      REQUIRE(where.starts_with(path + ": "));
      records += where.substr(path.size() + 2) + ' ' + record.dump() + '\n';
    });
    return records;
  };
  CHECK(records_of("[{\"a\": \"}\\\"]\"}, 1, \"x\"\n, [2]]\n") ==
        "record 1 {\"a\":\"}\\\"]\"}\nrecord 2 1\nrecord 3 \"x\"\nrecord 4 [2]\n");
  CHECK(records_of("{\"a\": 1}\n\n{\"a\":\n 2}\n\"x\" null\n7") ==
        "line 1 {\"a\":1}\nline 3 {\"a\":2}\nline 5 \"x\"\nline 5 null\nline 6 7\n");
  CHECK(records_of("{\"n\": 2, \"data\": [{\"a\": 1}, {\"a\": 2}]}") ==
        "\"data\" record 1 {\"a\":1}\n\"data\" record 2 {\"a\":2}\n");
  CHECK(records_of("[]").empty());
  const auto refused = [&](const std::string& content, const std::string& message) {
    INFO(content);
    CHECK_THROWS_WITH(records_of(content), contains_text(message));
  };
  refused("[{\"a\": 1}", "begins with a list that has no end");
  refused("[{\"a\": 1} {\"a\": 2}]", "record 2: expected a comma between records, got '{'");
  refused("[{\"a\": 1},]", "record 2: expected a record, got ']'");
  refused("[1] 2", "expected nothing after the list, got '2'");
  refused("{\"a\": 1}\n{\"a\"", "a.json: line 2");
  refused("{\"a\": 1}\n{a}", "a.json: line 2");
}

TEST_CASE("a .json file of columns is refused by name") {
  for (const char* table :
       {R"({"instruction": {"0": "a", "1": "b"}, "output": {"0": "c", "1": "d"}})",
        R"({"prompt": ["a", "b"], "completion": ["c", "d"]})"}) {
    check_error([&] { rows_of(table, "a.json"); }, {"is a table by columns; write records"});
  }
  CHECK(rows_of(R"({"text": "a", "labels": ["b"]})", "a.json").starts_with("1 {"));
}

TEST_CASE("texts of a .json file are documents") {
  const TemporaryFolder folder;
  for (const char* content : {"{\"text\": \"one\"}\n{\"text\": \"two\", \"id\": 2}\n",
                              "[{\"text\": \"one\"},\n {\"text\": \"two\"}]", "[\"one\", \"two\"]",
                              "{\"data\": [{\"text\": \"one\"}, {\"text\": \"two\"}]}"}) {
    INFO(content);
    std::vector<std::string> warnings;
    CHECK(read_documents({{.path = folder.write("a.json", content)}}, {}, &warnings) ==
          std::vector<std::string>{"one", "two"});
    CHECK(warnings.empty());
  }
  CHECK(read_documents({{.path = folder.write("a.json", "[{\"story\": \"one\"}]")}},
                       {.jsonl = "story"}) == std::vector<std::string>{"one"});
}

TEST_CASE("a table with a fault is refused by its line") {
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

TEST_CASE("a table may have many columns") {
  std::string names = "0";
  std::string values;
  for (int i = 1; i < 200'000; ++i) {
    names += ',' + std::to_string(i);
    values += ',';
  }
  const TemporaryFolder folder;
  std::size_t columns = 0;
  read_records({.path = folder.write("a.csv", names + '\n' + values + "x\n")}, "{}",
               [&](const Json& record, const std::string&) {
                 columns = record.size();
                 CHECK(record["199999"] == "x");
               });
  CHECK(columns == 200'000);
  CHECK_THROWS_WITH(rows_of(names + ",7\n"), contains_text("different names of columns"));
  CHECK_THROWS_WITH(rows_of(std::string(1'100'000, ',')),
                    contains_text("line 1: a row has more than 1048576 values"));
}

TEST_CASE("the key of JSON lines also names the column of the texts in a table") {
  const TemporaryFolder folder;
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
