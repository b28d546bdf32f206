// Worker of a page of one file: runs Headlight. Emscripten's script, before this one in the same
// worker, defines headlightEngine.
'use strict';

const kModelFile = '/model.gguf';
const kMostCharacters = 1 << 18;  // of a body: Emscripten copies it to the stack
let engine = null;
let program = null;  // compressed
let model = null;    // bytes of the GGUF file
let filled = 0;
let isBusy = false;
const turns = new MessageChannel();  // a message to itself lets others arrive before the next step

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) {
    bytes[i] = text.charCodeAt(i);
  }
  return bytes;
}

async function unzipped(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

// `part`: bytes, or their text in base64.
function takePart(part) {
  const bytes = typeof part === 'string' ? bytesOf(part) : part;
  if (filled + bytes.length > model.length) {
    throw new Error('file_cut');
  }
  model.set(bytes, filled);
  filled += bytes.length;
}

async function open({name, source, task}) {
  if (filled !== model.length) {
    throw new Error('file_cut');
  }
  const answer = (question, status, text, isLast) => postMessage({question, status, text, isLast});
  engine = await headlightEngine({wasmBinary: await unzipped(program), answer});
  if (task !== undefined) {
    beginTraining(task);
    return;
  }
  engine.FS.writeFile(kModelFile, model, {canOwn: true});
  program = model = null;
  const problem = engine.ccall('headlight_load', 'string', ['string', 'string', 'string'], [kModelFile, name, source]);
  engine.FS.unlink(kModelFile);
  if (problem !== '') {
    throw new Error(problem);
  }
}

function step() {
  if (engine._headlight_step() !== 0) {
    turns.port2.postMessage(0);
  } else {
    isBusy = false;
  }
}

function ask({question, method, path, body}) {
  if (body.length > kMostCharacters) {
    const error = {message: `expected a question of at most ${kMostCharacters} characters, got ${body.length}`};
    postMessage({question, status: 413, text: JSON.stringify({error}), isLast: true});
    return;
  }
  engine.ccall('headlight_ask', null, ['number', 'string', 'string', 'string'], [question, method, path, body]);
  if (!isBusy) {
    isBusy = true;
    turns.port2.postMessage(0);
  }
}

// Calls `work`; a failure ends the worker's use and is told to the page.
async function guarded(work, isDone) {
  try {
    await work();
    if (isDone) {
      postMessage({});
    }
  } catch (error) {
    postMessage({problem: error instanceof RangeError ? 'no_memory' : String(error.message ?? error)});
  }
}

turns.port1.onmessage = () => guarded(step, false);

onmessage = ({data}) => {
  if (data.question !== undefined) {
    guarded(() => ask(data), false);
  } else if (data.leave !== undefined) {
    engine._headlight_leave(data.leave);
  } else if (data.trainer !== undefined) {
    guarded({end: endTraining, files: sendRun}[data.trainer], false);
  } else if (data.program !== undefined) {
    guarded(() => {
      program = bytesOf(data.program);
      model = new Uint8Array(data.bytes);
    }, true);
  } else if (data.part !== undefined) {
    guarded(() => takePart(data.part), true);
  } else {
    guarded(() => open(data), true);
  }
};
