// Trains a small model with the WebAssembly program of the pages under Node, stops it, asks it, and
// writes its run directory as an archive.
// usage: node page_training.mjs ENGINE TEXT STEPS STOP ARCHIVE.zip
//   STOP   steps after which the training is stopped; at least STEPS: never
// Prints one JSON object: {"losses", "validation", "heads", "samples", "continued", "seconds"}.
import {readFileSync, writeFileSync} from 'node:fs';
import {moduleOf, programOf, sent, startWorker} from './node_worker.mjs';

const [engine, textFile, steps, stop, archive] = process.argv.slice(2);
const worker = startWorker(engine, ['worker.js', 'worker_train.js']);
const {workerFetch} = await moduleOf('worker_fetch.js');
const {zipOf} = await moduleOf('zip.js');

// Resolves to the first message that has `name`.
const told = (name) => new Promise((resolve, reject) => worker.addEventListener('message', ({data}) => {
  if (data.problem !== undefined) {
    reject(new Error(data.problem));
  } else if (data[name] !== undefined) {
    resolve(data[name]);
  }
}));

const settings = {tokenizer: 'char', position: 'rope', bias: 'true', n_layer: '2', n_head: '2', n_embd: '32', block_size: '32', batch_size: '8',
                  max_iters: steps, learning_rate: '3e-3', eval_interval: '50', eval_iters: '2', track_heads: '50',
                  sample_interval: '50', sample_tokens: '10', sample_prompt: 'The', keep_checkpoints: '1'};
const lines = {metrics: [], heads: [], samples: []};
worker.addEventListener('message', ({data: {news}}) => {
  if (news !== undefined) {
    Object.keys(lines).forEach((log) => lines[log].push(...news[log]));
    if (lines.metrics.at(-1)?.iteration + 1 >= Number(stop)) {
      worker.postMessage({trainer: 'end'});
    }
  }
});
const trained = told('trained');
const begin = performance.now();
try {
  await sent(worker, {program: programOf(engine), bytes: 0});
  await sent(worker, {task: {name: 'small', text: readFileSync(textFile, 'utf8'), settings}});
  await trained;
} catch ({message}) {
  console.log(JSON.stringify({problem: message}));
  process.exit(1);
}
const seconds = (performance.now() - begin) / 1000;
const ask = workerFetch(async () => worker);
const answer = await ask('/v1/completions', {method: 'POST', body: JSON.stringify({prompt: 'The', max_tokens: 8, temperature: 0})});
const [{text}] = (await answer.json()).choices;
const files = told('files');
worker.postMessage({trainer: 'files'});
writeFileSync(archive, Buffer.concat(zipOf(await files)));
console.log(JSON.stringify({
  losses: lines.metrics.filter(({loss}) => loss !== undefined).map(({loss}) => loss),
  validation: lines.metrics.filter((line) => line.validation_loss !== undefined).map((line) => line.validation_loss),
  heads: lines.heads.length, samples: lines.samples.length, continued: text, seconds}));
process.exit(0);
