// Training in the worker of a page of one file: a run of Headlight, a moment at a time.
'use strict';

const kTrainingText = 'text.txt';
const kTrainingLogs = ['metrics', 'heads', 'samples'];  // NAME.jsonl in the run's folder
let training = null;  // {name, told: bytes of each log that the page has}
let trainedName = '';
const trainingTurns = new MessageChannel();  // lets a message of the page, such as a stop, come between steps

// Returns the lines that a log has got since the last call.
function newLinesOf(log) {
  const path = `${training.name}/${log}.jsonl`;
  const {exists} = engine.FS.analyzePath(path);
  const told = training.told[log] ?? 0;
  const bytes = new Uint8Array(exists ? engine.FS.stat(path).size - told : 0);
  if (bytes.length === 0) {
    return [];
  }
  const file = engine.FS.open(path, 'r');
  engine.FS.read(file, bytes, 0, bytes.length, told);
  engine.FS.close(file);
  training.told[log] = told + bytes.length;
  return new TextDecoder().decode(bytes).split('\n').filter((line) => line !== '').map((line) => JSON.parse(line));
}

function tellNews() {
  postMessage({news: {run: training.name, ...Object.fromEntries(kTrainingLogs.map((log) => [log, newLinesOf(log)]))}});
}

function requireNone(problem) {
  if (problem !== '') {
    throw new Error(problem);
  }
}

// `settings`: texts by keys of headlight train.
function beginTraining({name, text, settings}) {
  engine.FS.writeFile(kTrainingText, text);
  requireNone(engine.ccall('headlight_train', 'string', ['string'],
    [JSON.stringify({...settings, data: kTrainingText, out_dir: name})]));
  training = {name, told: {}};
  trainingTurns.port2.postMessage(0);
}

function trainOn() {
  if (training === null) {  // stopped meanwhile
    return;
  }
  const state = engine.ccall('headlight_train_steps', 'string', [], []);
  if (state !== 'more' && state !== 'over') {
    throw new Error(state);
  }
  tellNews();
  if (state === 'more') {
    trainingTurns.port2.postMessage(0);
  } else {
    endTraining();
  }
}

// Saves the run, whose model answers from now on.
function endTraining() {
  if (training === null) {  // over already
    return;
  }
  requireNone(engine.ccall('headlight_train_end', 'string', ['string', 'string'], [training.name, training.name]));
  tellNews();
  trainedName = training.name;
  training = null;
  postMessage({trained: trainedName});
}

// Returns the files of a folder as {name, bytes}, links as {name, link}; none whose name begins with a dot.
function filesIn(folder) {
  return engine.FS.readdir(folder).filter((name) => !name.startsWith('.')).flatMap((entry) => {
    const name = `${folder}/${entry}`;
    const {mode} = engine.FS.lstat(name);
    return engine.FS.isLink(mode) ? {name, link: engine.FS.readlink(name).split('/').pop()}
      : engine.FS.isDir(mode) ? filesIn(name) : {name, bytes: engine.FS.readFile(name)};
  });
}

// Sends the files of the run and its text, which --resume finds beside config.toml.
function sendRun() {
  postMessage({files: [...filesIn(trainedName),
    {name: `${trainedName}/${kTrainingText}`, bytes: engine.FS.readFile(kTrainingText)}]});
}

trainingTurns.port1.onmessage = () => guarded(trainOn, false);
