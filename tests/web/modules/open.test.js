import {openPage, renewPage} from '../../../src/show/page/open.js';
import {documents, view} from '../../../src/show/page/state.js';
import {equal, test} from './harness.js';
import {sampleData} from './sample.js';

const byId = (id) => document.getElementById(id);
const names = (id) => [...byId(id).options].map(({textContent}) => textContent);

test('a page opens on all of its documents', () => {
  history.replaceState(null, '', '#');
  openPage(sampleData());
  equal(document.querySelectorAll('.thumbnails').length, 2);
  equal(byId('pickers').hidden, false);
  equal(names('document').length, 2);
  equal(names('beside').length, 3);
});

test('replaced documents keep the chosen view and head', () => {
  history.replaceState(null, '', '#');
  openPage(sampleData());
  Object.assign(view, {head: '1.0', tab: 'grid', token: 4});
  const data = sampleData();
  renewPage({...data, documents: [data.documents[1]], beside: -1});
  equal([documents.length, view.tab, view.head, view.beside], [1, 'grid', '1.0', -1]);
  equal([view.token, byId('pickers').hidden], [documents[0].count > 4 ? 4 : null, true]);
  equal(names('document').length, 1);
  renewPage(data);
  equal([names('document').length, view.beside], [2, data.beside]);
});

test('a head or document that no longer exists is replaced by the first', () => {
  history.replaceState(null, '', '#');
  openPage(sampleData());
  Object.assign(view, {head: '9.9', doc: 1});
  const data = sampleData();
  renewPage({...data, documents: [data.documents[0]], beside: -1});
  equal([view.doc, view.head], [0, documents[0].heads[0].name]);
});

test('the keyboard stays on its element when the same documents come with other scores', () => {
  const data = sampleData();
  const scored = {...data, documents: data.documents.map((doc) => ({...doc, scores: {'0.0': ['other', 0.5]}}))};
  const reach = (address, selector) => {
    history.replaceState(null, '', address);
    openPage(data);
    byId('stage').querySelectorAll(selector)[1].focus();
    renewPage(scored);
    return document.activeElement;
  };
  equal(reach('#', '.thumbnails button').head?.name, '0.1');
  const {id, className} = reach('#neuron/1.0', '[role=listbox]').firstElementChild ?? {};
  equal([id, className], ['token-1-0', '']);
  document.activeElement.blur();
});
