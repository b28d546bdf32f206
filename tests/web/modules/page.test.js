import {announce, chooseToken, closeHead, goToHead, hoverToken, openHead, openTab, panes,
        readAddress, render, setDirection, setViews} from '../../../src/show/page/page.js';
import {documents, shownDocuments, view} from '../../../src/show/page/state.js';
import {setHideFirst} from '../../../src/show/page/weights.js';
import {equal, test} from './harness.js';
import {openSample, sampleData} from './sample.js';

const byId = (id) => document.getElementById(id);

// Opens the sample with views that only record their calls; returns the record.
function openNoting(data) {
  openSample(data);
  const notes = [];
  const build = (name) => () => ({
    panes: shownDocuments().map((doc) => ({
      doc, head: doc.byName.get(view.head) ?? null, node: document.createElement('p'),
      showToken: () => notes.push(`${name} token ${view.hovered ?? view.token}`),
      draw: () => notes.push(`${name} draw`), scroll: () => notes.push(`${name} scroll`),
    })),
    tools: [Object.assign(document.createElement('h2'), {id: 'name', tabIndex: -1})],
    hint: `hint of ${name}`,
    close: () => notes.push(`${name} close`),
    focusHead: (head) => notes.push(`${name} focus ${head.name}`),
  });
  setViews({model: build('model'), head: build('head'), neuron: build('neuron'),
            grid: build('grid')});
  history.replaceState(null, '', '#');
  render();
  notes.length = 0;
  return notes;
}

const alone = () => ({...sampleData(), beside: -1});

test('a tab shows its view and closes the one before', () => {
  const notes = openNoting(alone());
  openTab('grid');
  equal(notes, ['model close', 'grid draw', 'grid token null']);
  equal([location.hash, byId('hint').textContent, document.body.dataset.view],
        ['#grid/0.0', 'hint of grid', 'grid']);
  equal(byId('tab-grid').getAttribute('aria-selected'), 'true');
  equal(byId('tab-model').tabIndex, -1);
  equal(byId('stage').className, 'view-grid');
});

test('two documents are shown in named columns with the class of the second one’s head', () => {
  openNoting();
  view.tab = 'neuron';
  view.head = '0.1';
  render();
  equal(byId('stage').className, 'view-neuron pair');
  equal([...byId('stage').querySelectorAll('h2.document')].map((title) => title.textContent),
        ['the cat sat down', 'a dog']);
  equal([...byId('stage').children].map((column) => column.querySelectorAll('.tag').length),
        [0, 1]);
  equal(byId('counts').textContent, 'Attention of 6 heads in 2 layers over 5 tokens');
});

test('closing a head of the model view returns to its thumbnail', () => {
  const notes = openNoting(alone());
  openHead(documents[0].byName.get('1.2'));
  equal([location.hash, document.activeElement.id], ['#model/1.2', 'name']);
  goToHead(documents[0].byName.get('0.2'));
  equal(location.hash, '#model/0.2');
  notes.length = 0;
  closeHead();
  equal([location.hash, view.open], ['#model', false]);
  equal(notes.at(-1), 'model focus 0.2');
});

test('a chosen token lies inside the longest text and is announced', () => {
  const notes = openNoting();
  view.head = '0.1';
  render();
  notes.length = 0;
  chooseToken(9);
  equal(view.token, 4);
  equal(notes, ['model token 4', 'model token 4', 'model scroll', 'model scroll']);
  chooseToken(-1);
  equal(view.token, 0);
  chooseToken(1);
  equal(byId('status').textContent,
        'the cat sat down, head 0.1, token 1 ·cat gives the at 0: 0.750, ·cat at 1: 0.250; ' +
        'a dog, head 0.1, token 1 ·dog gives a at 0: 0.750, ·dog at 1: 0.250');
  chooseToken(null);
  equal(view.token, null);
});

test('pointing at a token shows it without an announcement', () => {
  const notes = openNoting(alone());
  byId('status').textContent = 'before';
  hoverToken(2);
  hoverToken(2);
  hoverToken(null);
  equal(notes, ['model token 2', 'model token null']);
  equal(byId('status').textContent, 'before');
});

test('the direction of links and none at all are announced', () => {
  openNoting(alone());
  view.head = '0.1';
  render();
  view.token = 4;
  setDirection('receives');
  announce();
  equal(byId('status').textContent, 'head 0.1, token 4 ·down receives ·down at 4: 0.250');
  view.token = 0;
  setDirection('gives');
  setHideFirst(true);
  announce();
  equal(byId('status').textContent, 'head 0.1, token 0 the gives nothing');
});

test('an address opens the parts it names if they exist', () => {
  openNoting();
  const open = (hash) => {
    history.replaceState(null, '', hash);
    readAddress();
    return [view.tab, view.head, view.open, view.token, view.direction, view.doc, view.beside];
  };
  equal(open('#model/1.1/3/receives&beside=-1'), ['model', '1.1', true, 3, 'receives', 0, -1]);
  equal(open('#head/9.9/77&doc=1'), ['head', '1.1', false, 4, 'gives', 1, 1]);
  equal(panes.length, 2);
});
