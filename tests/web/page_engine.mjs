// Asks a server and the WebAssembly program of the pages the same questions, and compares the answers.
// usage: node page_engine.mjs ENGINE MODEL.gguf SERVER COUNT
//   ENGINE   folder with headlight.js and headlight.wasm.gz
//   SERVER   address of `headlight serve MODEL.gguf`
//   COUNT    number of random questions
import {readFileSync} from 'node:fs';
import {moduleOf, programOf, sent, startWorker} from './node_worker.mjs';

const [engine, model, server, count] = process.argv.slice(2);

async function openModel(worker, name) {
  const bytes = readFileSync(model);
  await sent(worker, {program: programOf(engine), bytes: bytes.length});
  const part = 3 << 18;
  for (let begin = 0; begin < bytes.length; begin += part) {
    await sent(worker, {part: bytes.subarray(begin, begin + part).toString('base64')});
  }
  await sent(worker, {name, source: model});
}

let state = 1;
function random(limit) {  // Lehmer's generator: the same questions in every run
  state = state * 48271 % 2147483647;
  return state % limit;
}
const oneOf = (list) => list[random(list.length)];

const kNames = ['Nora', 'Ben', 'Mina', 'Tom'];
const kThings = ['red kite', 'blue ball', 'red key', 'small cat', '빨간 연'];
const sentence = () => `${oneOf(kNames)} lost the ${oneOf(kThings)}. ${oneOf(kNames)} said, "I saw the`;
const change = ({layers, heads}) => oneOf([
  `off ${random(layers)}.${random(heads)}`, `scale ${random(layers)}.${random(heads)} 1.5`, `off mlp.${random(layers)}`,
  `mean ${random(layers)}.${random(heads)} from "a red cat"`, '']);

// Returns the path and the body of a random question.
function question(about) {
  const text = sentence();
  const intervene = change(about);
  return oneOf([
    () => ['/api/attention', {text, intervene}],
    () => ['/api/predict', {text, intervene, top_k: 5, answer: 'a'}],
    () => ['/api/lens', {text, intervene, top_k: 2}],
    () => ['/api/attribute', {text, intervene}],
    () => ['/api/scores', {text, repeats: 1, resamples: 20}],
    () => ['/api/patch', {clean: 'Mina has a red key', corrupt: 'Mina has a red hat', by: oneOf(['head', 'layer'])}],
    () => ['/tokenize', {content: text, with_pieces: true}],
    () => ['/v1/completions', {prompt: text, max_tokens: 12, temperature: 0, logprobs: 3, echo: random(2) === 1, intervene}],
    () => ['/v1/completions', {prompt: text, max_tokens: 12, temperature: 0.8, seed: random(1000), intervene}],
    () => ['/v1/completions', {prompt: text, max_tokens: 0, temperature: -1}],
    () => ['/v1/completions', {prompt: text, max_tokens: 8, seed: 3, stream: true, logprobs: 2}],
  ])();
}

// Numbers may differ by rounding: another compiler and another C library.
const kTolerance = 5e-5;
let largest = 0;

// Attention weights are 16-bit integers in base64; a rounding error moves one by 1.
const kWeightUnit = 1 / 65535;
const weightsIn = (text) => {
  const {buffer, byteOffset, length} = Buffer.from(text, 'base64');
  return new Uint16Array(buffer.slice(byteOffset, byteOffset + length));
};

function weightDifference(a, b, path) {
  const [first, second] = [weightsIn(a), weightsIn(b)];
  const most = first.reduce((found, weight, i) => Math.max(found, Math.abs(weight - second[i])), 0);
  largest = Math.max(largest, most * kWeightUnit);
  return most <= 1 && first.length === second.length ? '' : `${path}: weights differ by ${most} units`;
}

function difference(a, b, path) {
  if (typeof a === 'string' && typeof b === 'string' && a !== b && /\.weights\.\d+$/.test(path)) {
    return weightDifference(a, b, path);
  }
  if (typeof a === 'number' && typeof b === 'number') {
    const apart = Math.abs(a - b) / Math.max(1, Math.abs(a), Math.abs(b));
    largest = Math.max(largest, apart);
    return apart <= kTolerance ? '' : `${path}: ${a} and ${b}`;
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return a === b ? '' : `${path}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
  }
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((key) => key !== 'created' &&
    !(key === 'id' && typeof a.id === 'string'));
  for (const key of keys) {
    const found = difference(a[key], b[key], `${path}.${key}`);
    if (found !== '') {
      return found;
    }
  }
  return '';
}

// Returns the JSON of an answer; of a stream, all its events.
async function contentOf(answer) {
  const text = await answer.text();
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'));
  return {status: answer.status,
          content: events.length > 0 ? events.map((event) => JSON.parse(event.slice(6))) : JSON.parse(text)};
}

const worker = startWorker(engine);
const {data: [about]} = await (await fetch(`${server}/v1/models`)).json();
await openModel(worker, about.id);
const {workerFetch} = await moduleOf('worker_fetch.js');
const askPage = workerFetch(async () => worker);

let same = 0;
let failures = 0;
for (let i = 0; i < Number(count); ++i) {
  const [path, body] = question(about);
  const request = {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)};
  const ofServer = await contentOf(await fetch(server + path, request));
  const ofPage = await contentOf(await askPage(path, request));
  const found = difference(ofServer, ofPage, path);
  if (found !== '') {
    failures += 1;
    console.log(`FAILED: ${path} ${JSON.stringify(body)}\n  server and page: ${found}`);
  }
  const before = largest;
  largest = 0;
  difference(ofServer, ofPage, '');
  same += largest === 0 && found === '' ? 1 : 0;
  largest = Math.max(largest, before);
}
// Leaves a question after the first piece of its answer.
const left = new AbortController();
const answer = await askPage('/v1/completions', {method: 'POST', signal: left.signal,
  body: JSON.stringify({prompt: 'Nora', max_tokens: 1000, stream: true, logprobs: 1})});
const pieces = answer.body.getReader();
await pieces.read();
left.abort();
const readAll = async () => {
  for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
  }
};
if (await readAll().then(() => true, (error) => error.name !== 'AbortError')) {
  failures += 1;
  console.log('FAILED: a question that is left ends with an AbortError');
}
console.log(`${count} questions, ${same} answers with the same bits, largest difference ${largest.toExponential(1)}, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
