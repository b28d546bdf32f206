#include "headlight/runs/checkpoint.h"
#include "headlight/formats/run_layout.h"
#include "runs/saved_run.h"
#include "support/test.h"

// Removes the entry of one file from a manifest.
void forget_in_manifest(const fs::path& checkpoint, std::string_view file) {
  const fs::path path = checkpoint / "MANIFEST.json";
  json manifest = json::parse(file_contents(path));
  manifest["files"].erase(std::string(file));
  write_bytes(path, manifest.dump());
}

TEST_CASE("the newest checkpoints and the best are kept") {
  SavedRun run;
  run.save(1, 2, true);
  for (Index iteration = 2; iteration <= 5; ++iteration) {
    run.save(iteration);
  }
  CHECK(run.has("step_00000001"));
  CHECK(!run.has("step_00000002"));
  CHECK(!run.has("step_00000003"));
  CHECK(run.has("step_00000004"));
  CHECK(run.has("step_00000005"));
  CHECK(run.link("latest") == "step_00000005");
  CHECK(run.link("best") == "step_00000001");
}

TEST_CASE("a run that went back to an older checkpoint keeps its new checkpoints") {
  SavedRun run;
  run.save(4);
  run.save(12);
  run.damage("step_00000012");
  run.save(6, 1);
  CHECK(run.has("step_00000006"));
  CHECK(!run.has("step_00000004"));
  std::vector<std::string> skipped;
  CHECK(find_latest_checkpoint(run.folder.path(), skipped).filename() == "step_00000006");
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].starts_with("skipped step_00000012: "));
  CHECK(contains(skipped[0], "step_00000012/optimizer.safetensors: "));
}

TEST_CASE("damaged checkpoints do not count towards the number to keep") {
  SavedRun run;
  run.save(4);
  run.save(12);
  run.damage("step_00000012");
  run.save(14, 3);
  remove_old_checkpoints(run.folder.path(), 14, {.keep = 2, .passed_over = {12}});
  CHECK(run.has("step_00000004"));
  CHECK(!run.has("step_00000012"));
  CHECK(run.has("step_00000014"));
}

TEST_CASE("a damaged checkpoint is replaced when the run reaches its update again") {
  SavedRun run;
  run.save(3);
  run.damage("step_00000003");
  CHECK_THROWS_AS(verify_manifest(run.folder.path() / "step_00000003"), Error);
  run.save(3);
  CHECK_NOTHROW(verify_manifest(run.folder.path() / "step_00000003"));
  CHECK(std::distance(fs::directory_iterator(run.folder.path()), fs::directory_iterator()) == 2);
}

TEST_CASE("a complete checkpoint is replaced only on request") {
  SavedRun run;
  const fs::path path = run.save(3);
  const TrainingState evaluated{.iteration = 3, .evaluated = 3};
  const auto save_again = [&](bool replace) {
    save_checkpoint(run.folder.path(), {run.model, run.tokenizer, run.optimizer, evaluated},
                    {.replace = replace});
    return read_training_state(path).evaluated;
  };
  CHECK(save_again(false) != 3);
  CHECK(save_again(true) == 3);
  CHECK_NOTHROW(verify_manifest(path));
  CHECK(std::distance(fs::directory_iterator(run.folder.path()), fs::directory_iterator()) == 2);
}

TEST_CASE("a checkpoint under the name of another update is skipped") {
  SavedRun run;
  run.save(3);
  fs::copy(run.folder.path() / "step_00000003", run.folder.path() / "step_00000009");
  std::vector<std::string> skipped;
  CHECK(find_latest_checkpoint(run.folder.path(), skipped).filename() == "step_00000003");
  REQUIRE(skipped.size() == 1);
  CHECK(contains(skipped[0], "belongs to step 3"));
  run.save(9);
  CHECK(read_training_state(run.folder.path() / "step_00000009").iteration == 9);
}

TEST_CASE("a manifest that leaves out a file of its checkpoint is refused") {
  for (const std::string_view file : kCheckpointFiles) {
    CAPTURE(file);
    SavedRun run;
    run.save(3);
    const fs::path path = run.save(4);
    forget_in_manifest(path, file);
    std::vector<std::string> skipped;
    CHECK(find_latest_checkpoint(run.folder.path(), skipped).filename() == "step_00000003");
    const std::string expected = "expected an entry for " + std::string(file) + ", got none";
    REQUIRE(skipped.size() == 1);
    CHECK(contains(skipped[0], expected));
    if (std::find(kModelFiles.begin(), kModelFiles.end(), file) != kModelFiles.end()) {
      CHECK_THROWS_WITH(load_weights(path), contains_text(expected));
    } else {
      CHECK_NOTHROW(load_weights(path));
    }
  }
}

TEST_CASE("a model folder without a manifest is read as it is") {
  SavedRun run;
  const fs::path path = run.save(3);
  fs::remove(path / "MANIFEST.json");
  CHECK_NOTHROW(load_weights(path));
}

TEST_CASE("optimizer moments that no update can produce are refused by file and tensor") {
  SavedRun run;
  const fs::path path = run.save(3);
  const auto refusal = [&](const std::string& name, float value) {
    NamedTensors moments = run.optimizer.state();
    for (auto& [other, tensor] : moments) {
      tensor.fill(0);
      if (other == name) {
        tensor.data<float>()[1] = value;
      }
    }
    fs::remove(path / kCheckpointMoments);
    write_safetensors(path / kCheckpointMoments, moments);
    return error_of([&] { read_optimizer(path, run.optimizer); });
  };
  const std::string where = (path / kCheckpointMoments).string() + ": tensor ";
  const std::string remedy = "; remove this checkpoint to resume from an older one";
  CHECK(refusal("exp_avg.wte.weight", -1) == "no error");
  CHECK(refusal("exp_avg_sq.wte.weight", 1) == "no error");
  CHECK(refusal("exp_avg_sq.wte.weight", -0.5F) ==
        where + "exp_avg_sq.wte.weight: expected finite numbers of at least 0, got -0.5" + remedy);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    CHECK(refusal("exp_avg.wte.weight", value)
              .starts_with(where + "exp_avg.wte.weight: expected finite numbers, got "));
    CHECK(refusal("exp_avg_sq.wte.weight", value)
              .starts_with(where + "exp_avg_sq.wte.weight: expected finite numbers of at least"));
  }
}

TEST_CASE("values that are not finite are never saved") {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    SavedRun run;
    run.save(1);
    Tensor weight = run.model.parameters()[1].second;
    weight.data<float>()[3] = value;
    CHECK_THROWS_WITH(run.save(2), contains_text("wpe.weight contains values that are not finite"));
    weight.data<float>()[3] = 0;
    run.optimizer.state()[0].second.data<float>()[0] = value;
    CHECK_THROWS_WITH(run.save(2), contains_text("exp_avg.wte.weight"));
    CHECK(!run.has("step_00000002"));
    CHECK(run.link("latest") == "step_00000001");
  }
}

TEST_CASE("links that a killed process left wrong are repaired") {
  SavedRun run;
  run.save(1, 2, true);
  const fs::path second = run.save(2);
  fs::remove(run.folder.path() / "latest");
  fs::create_symlink("step_00000001", run.folder.path() / "latest");
  repair_links(second, {.iteration = 2, .best_iteration = 2});
  CHECK(run.link("latest") == "step_00000002");
  CHECK(run.link("best") == "step_00000002");
  repair_links(second, {.iteration = 2, .best_iteration = 7});
  CHECK(run.link("best") == "step_00000002");
  run.save(3, 3, true);
  run.damage("step_00000003");
  repair_links(second, {.iteration = 2, .best_iteration = -1});
  CHECK(!fs::is_symlink(run.folder.path() / "best"));
}
