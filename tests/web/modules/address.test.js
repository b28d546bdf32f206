import {formatAddress, parseAddress} from '../../../src/show/page/address.js';
import {equal, test} from './harness.js';

const opening = {tab: 'grid', beside: 1};
const shown = {tab: 'model', open: false, head: '2.3', token: 17, chosen: false,
               direction: 'gives', doc: 0, beside: 1};
const address = (changes) => formatAddress({...shown, ...changes}, opening);
const parsed = (hash) => parseAddress(hash, 3, opening);

test('an address names the view, the head, the token and the direction', () => {
  equal(address({}), '#model');
  equal(address({open: true}), '#model/2.3');
  equal(address({open: true, chosen: true}), '#model/2.3/17');
  equal(address({open: true, direction: 'receives'}), '#model/2.3/17/receives');
  equal(address({tab: 'head', chosen: true}), '#head/2.3/17');
  equal(address({tab: 'neuron', direction: 'receives'}), '#neuron/2.3', 'only queries there:');
});

test('an address names documents that are not shown at the start', () => {
  equal(address({doc: 2}), '#model&doc=2');
  equal(address({beside: -1}), '#model&beside=-1');
  equal(address({tab: 'grid', doc: 1, beside: 0}), '#grid/2.3&doc=1&beside=0');
});

test('an address that was written is read back', () => {
  equal(parsed('#head/2.3/17/receives&doc=1&beside=0'),
        {tab: 'head', head: '2.3', token: 17, direction: 'receives', doc: 1, beside: 0});
  equal(parsed('#model'),
        {tab: 'model', head: null, token: null, direction: 'gives', doc: 0, beside: 1});
});

test('settings missing from an address have their initial values', () => {
  equal(parsed(''), {tab: 'grid', head: null, token: null, direction: 'gives', doc: 0, beside: 1});
  equal(parsed('#/0.1').tab, 'model', 'a head alone opens it:');
});

test('an invalid address is ignored', () => {
  equal(parsed('#nowhere/at/all'), parsed(''));
  equal(parsed('#grid&doc=3&beside=-2'), parsed('#grid'));
  equal(parsed('#grid&doc=0.5&beside=x'), parsed('#grid'));
});
