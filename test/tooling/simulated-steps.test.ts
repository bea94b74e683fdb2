import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** What only a step of the engine says of a record or an effect. Whoever asks for a step may name some other members, too. */
const decided: ReadonlySet<string> = new Set([
  ...['state', 'fence', 'attempt', 'claimId', 'leaseUntil', 'onLeaseOver', 'recoveryPoint', 'isBegun', 'answer'],
  ...['evidence', 'errorCode', 'doubtedAt', 'reconcileAfter', 'dueAt', 'started', 'finished', 'providerId'],
  ...['firstStartedAt', 'createdAt', 'lastRunAt', 'completedAt', 'progress', 'answerVersion', 'isPassed'],
])

const folder = 'test/simulation'

/** What is written there all the same, and decides nothing: of a whole file, or of one name in it. */
const exceptions: Readonly<Record<string, string>> = {
  'database/copies.ts': 'what is asked for is copied whole, before anybody decides anything',
  'database/call-deeds.ts: state': 'a doubt is asked for, and no failure',
  'operator.ts': 'a person says what he has seen, and asks for a step by it',
  'programs.ts: attempt': 'the body of an answer tells which attempt has made it',
  'effect-kinds.ts: [kind]': 'a node knows the effects that its requests may lead to',
  'node.ts: answer': 'a node answers',
  'node.ts: [name]': 'a worker has options by its name',
  'main.ts: [feature]': 'what was come by is counted',
  'exhaustive.ts: [last]': 'a list of choices goes on with the next one',
  'database/database.ts: [of]': 'ids are counted',
  'database/shared-statements.ts: [kind]': 'statements that are under way are counted',
  'world/faults.ts: [kind]': 'what may still go wrong is counted',
}

/** What its database asks of a record or an effect all the same, as it stands in the source. */
const asked: Readonly<Record<string, string>> = {
  "database/call-deeds.ts: state !== 'completed'": 'an event locks what is open',
  "database/call-deeds.ts: state !== 'expired'": 'an event locks what is open',
  'database/effect-reads.ts: effect.state === state': 'whoever lists says which',
  'database/effect-reads.ts: finishedAt >= since': 'whoever lists says which',
  "database/effect-reads.ts: state === 'done'": 'those are listed that are done',
  "database/effects.ts: effect.state === 'done'": 'reads back what became of a commit',
  'database/effects.ts: effect?.fence === fence': 'reads back what became of a commit',
  'database/phase.ts: record.hasEffects': 'whoever writes effects says so, and nobody takes it back',
  'database/phase.ts: row?.record.claimId === claim.claimId': 'reads back what became of a commit',
  'database/record-batches.ts: isBegun': 'for whoever judges',
  'database/record-batches.ts: record.hasEffects': 'where there never were any, none are looked for',
  'database/record-batches.ts: now() < expiresAt': 'for whoever judges',
  "database/record-batches.ts: state === 'expired'": 'for whoever judges',
  "database/record-batches.ts: state === 'failed_retryable'": 'for whoever judges',
  'database/record-batches.ts: recoveryPoint !== started': 'for whoever judges',
  "database/record-batches.ts: state === 'in_progress'": 'leases that are over come first',
  "database/record-batches.ts: state !== 'in_progress'": 'leases that are over come first',
  'database/server-error.ts: says[state]': 'a state of SQL',
  'database/single.ts: record.hasEffects': 'whoever writes effects says so, and nobody takes it back',
}

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
)

test('the simulation decides nothing of a record or an effect by itself', () => {
  expect(files.length).toBeGreaterThan(60)
  const found = files.flatMap((name) =>
    decisions(readFileSync(join(folder, name), 'utf8')).map((what) => ({ name, what: `${name}: ${what}` })),
  )
  expect(found.filter(({ name, what }) => !(name in exceptions || what in exceptions))).toEqual([])
  const used = new Set(found.flatMap(({ name, what }) => [name, what]))
  expect(Object.keys(exceptions).filter((exception) => !used.has(exception))).toEqual([])
})

test('its database does not ask by itself what only a step decides by', () => {
  const stores = files.filter((name) => name.startsWith('database/'))
  const found = stores.flatMap((name) =>
    conditions(readFileSync(join(folder, name), 'utf8')).map((what) => `${name}: ${what}`),
  )
  expect([...new Set(found)].sort()).toEqual(Object.keys(asked).sort())
})

test('a condition of a step that is written down a second time is seen', () => {
  const source = `
    const isOver = record.state === 'expired' && now >= expiresAt
    const isFree = !(leaseUntil > now()) || record['fence'] !== claim.fence
    const isSame = record.id === found.id
    const isThere = record.leaseUntil === undefined || isFinal(state)`
  expect(conditions(source)).toEqual([
    "record.state === 'expired'",
    'now >= expiresAt',
    'leaseUntil > now()',
    "record['fence'] !== claim.fence",
  ])
})

test.each([
  ['by a switch', 'switch (record.state) { case "expired": return }', ['record.state']],
  ['by a list', 'const isOver = ["done", "dead"].includes(effect.state)', ['["done", "dead"].includes(effect.state)']],
  ['by a set', 'if (final.has(state)) return', ['final.has(state)']],
  ['by a table', 'const next = after[state] ?? after.get(record.state)', ['after[state]', 'after.get(record.state)']],
  ['by what is true of it', 'record.isBegun ? go() : stay()', ['record.isBegun']],
  ['by what is true of it, and more', 'return record.hasEffects && isOpen(record)', ['record.hasEffects']],
  ['by what is not', 'if (!isBegun || (record.answer)) return', ['(record.answer)', '!isBegun']],
  ['by what is true of it, in words', 'const is = Boolean(record.hasEffects)', ['Boolean(record.hasEffects)']],
  ['as long as it holds', 'while (record.isBegun) go()', ['record.isBegun']],
  ['under another name', "const { state: was } = record; if (was === 'done') return", ["was === 'done'"]],
  ['under a name of its own', 'const till = record.leaseUntil; if (till! <= now) return', ['till! <= now']],
] as const)('a condition of a step that asks %s is seen', (_, source, spelt) => {
  expect(conditions(source)).toEqual(spelt)
})

test.each([
  ['in a literal', '({ ...record, state: "unknown", leaseUntil: undefined })', ['state', 'leaseUntil']],
  ['by its own name', 'changedRecord(record, { fence })', ['fence']],
  ['in quotes', '({ "state": "unknown", ["leaseUntil"]: undefined, [`dueAt`]: 1 })', ['state', 'leaseUntil', 'dueAt']],
  [
    'by an assignment',
    'next.state = "unknown"; next["leaseUntil"] = undefined; next.fence++',
    ['state', 'leaseUntil', 'fence'],
  ],
  ['by one that may be none', 'next.answer ??= other; --next.attempt', ['answer', 'attempt']],
  ['by taking it away', 'delete next.leaseUntil', ['leaseUntil']],
  ['by taking it apart', '[next.state, { a: next.fence }] = both', ['state', 'fence']],
  ['by assigning a whole', 'Object.assign(next, { state: "unknown" })', ['state']],
  [
    'by its name',
    'Reflect.set(next, "state", "unknown"); Object.defineProperty(next, "dueAt", {})',
    ['state', 'dueAt'],
  ],
  ['by a name that is found elsewhere', 'next[name] = 1; ({ [name]: 1 })', ['[name]', '[name]']],
  ['by a member that computes it', '({ get state() { return "unknown" }, answer() {} })', ['state', 'answer']],
] as const)('a step that is written down a second time %s is seen', (_, source, names) => {
  expect(decisions(source)).toEqual(names)
})

test('who only looks is not seen', () => {
  const looking = `
    const { state, fence: raised } = record
    const isOver = record.state === 'completed' && record['leaseUntil'] <= now
    type Named = Pick<StoredRecord, 'state' | 'fence'>
    interface Given { readonly state: string }
    ;[{ state: before.was }] = [record]
    counts[0] = 1`
  expect(decisions(looking)).toEqual([])
})

/** The names that are written of all that only a step decides, in order. */
function decisions(source: string): readonly string[] {
  const names: string[] = []
  const visit = (node: ts.Node): void => {
    for (const name of writtenBy(node)) names.push(name)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('simulation.ts', source, ts.ScriptTarget.Latest, true))
  return names
}

/** The comparisons, and all else that asks by what only a step decides by, as they are spelt. */
function conditions(source: string): readonly string[] {
  const file = ts.createSourceFile('simulation.ts', source, ts.ScriptTarget.Latest, true)
  const judgedBy = judgedIn(file)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    for (const asking of askingIn(node, judgedBy)) found.push(asking.getText().replaceAll(/\s+/g, ' '))
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** The names of what a step decides by, and by which other names this file has them. */
function judgedIn(file: ts.SourceFile): ReadonlySet<string> {
  const names = new Set(judgedByName)
  const visit = (node: ts.Node): void => {
    if (ts.isBindingElement(node) && ts.isIdentifier(node.name) && isNamed(node.propertyName, names))
      names.add(node.name.text)
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && isJudgedBy(node.initializer, names))
      names.add(node.name.text)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return names
}

/** What asks at this very node: what is spelt of it is the same wherever it stands. */
function askingIn(node: ts.Node, names: ReadonlySet<string>): readonly ts.Node[] {
  const isJudged = (one: ts.Expression) => isJudgedBy(one, names)
  if (ts.isBinaryExpression(node)) return askedOf(node, isJudged)
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return isJudged(node.operand) ? [node] : []
  if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node) || ts.isSwitchStatement(node))
    return [node.expression].filter(isJudged)
  if (ts.isConditionalExpression(node)) return [node.condition].filter(isJudged)
  if (ts.isCallExpression(node)) return isLookingUp(node) && node.arguments.some(isJudged) ? [node] : []
  if (ts.isElementAccessExpression(node)) return isJudged(node.argumentExpression) ? [node] : []
  return []
}

/** Of what is compared the whole, of what is only taken for true or false that. Whether something is there decides nothing. */
function askedOf(
  node: ts.BinaryExpression,
  isJudged: (one: ts.Expression) => boolean,
): readonly (ts.BinaryExpression | ts.Expression)[] {
  const { left, right, operatorToken } = node
  if (isComparing(operatorToken.kind))
    return right.getText() !== 'undefined' && [left, right].some(isJudged) ? [node] : []
  if (operatorToken.kind === ts.SyntaxKind.BarBarToken || operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken)
    return [left, right].filter(isJudged)
  return []
}

/** A set or a list is asked whether this is in it; or something is made true or false of it. */
function isLookingUp({ expression }: ts.CallExpression): boolean {
  if (ts.isIdentifier(expression)) return expression.text === 'Boolean'
  return ts.isPropertyAccessExpression(expression) && lookups.has(expression.name.text)
}

const lookups: ReadonlySet<string> = new Set(['includes', 'has', 'get', 'indexOf', 'startsWith', 'test'])

/** A member of a record or an effect that a step decides by, or a variable of that name. */
function isJudgedBy(node: ts.Expression | undefined, names: ReadonlySet<string>): boolean {
  if (node === undefined) return false
  if (ts.isIdentifier(node)) return names.has(node.text)
  if (ts.isPropertyAccessExpression(node)) return judgedByName.has(node.name.text)
  if (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node) || ts.isAsExpression(node))
    return isJudgedBy(node.expression, names)
  return ts.isElementAccessExpression(node) && isNamed(node.argumentExpression, judgedByName)
}

function isNamed(node: ts.Node | undefined, names: ReadonlySet<string>): boolean {
  return node !== undefined && (ts.isStringLiteralLike(node) || ts.isIdentifier(node)) && names.has(node.text)
}

const judgedByName: ReadonlySet<string> = new Set([
  ...decided,
  ...['expiresAt', 'finishedAt', 'processedAt', 'hasEffects', 'generation', 'claimId'],
])

function isComparing(kind: ts.SyntaxKind): boolean {
  const { LessThanToken, GreaterThanEqualsToken, EqualsEqualsToken, ExclamationEqualsEqualsToken } = ts.SyntaxKind
  const isOrdering = kind >= LessThanToken && kind <= GreaterThanEqualsToken
  return isOrdering || (kind >= EqualsEqualsToken && kind <= ExclamationEqualsEqualsToken)
}

/** What this very node writes: a member of a literal, something that is assigned or taken away, or a member that is named. */
function writtenBy(node: ts.Node): readonly string[] {
  if (ts.isObjectLiteralElementLike(node) && ts.isObjectLiteralExpression(node.parent))
    return isTakenApart(node.parent) ? [] : wantedOf(node.name)
  if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) return targetsIn(node.left)
  if (ts.isDeleteExpression(node)) return targetsIn(node.expression)
  if ((ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) && isCounting(node.operator))
    return targetsIn(node.operand)
  if (ts.isCallExpression(node)) return node.arguments.filter(ts.isStringLiteralLike).flatMap(wantedOf)
  return []
}

/** What an assignment writes, also where it takes something apart. */
function targetsIn(node: ts.Expression): readonly string[] {
  if (ts.isPropertyAccessExpression(node)) return wantedOf(node.name)
  if (ts.isElementAccessExpression(node)) return wantedOf(node.argumentExpression)
  if (ts.isParenthesizedExpression(node) || ts.isSpreadElement(node)) return targetsIn(node.expression)
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(targetsIn)
  if (!ts.isObjectLiteralExpression(node)) return []
  return node.properties.flatMap((member) => (ts.isPropertyAssignment(member) ? targetsIn(member.initializer) : []))
}

/** The name of what only a step decides, or how it is spelt where nobody can tell. */
function wantedOf(name: ts.PropertyName | ts.Expression | undefined): readonly string[] {
  if (name === undefined || ts.isNumericLiteral(name) || ts.isPrivateIdentifier(name)) return []
  if (ts.isComputedPropertyName(name)) return spelt(name.expression)
  if (ts.isIdentifier(name) && !ts.isElementAccessExpression(name.parent))
    return decided.has(name.text) ? [name.text] : []
  return spelt(name)
}

function spelt(name: ts.Node): readonly string[] {
  if (!ts.isStringLiteralLike(name)) return [`[${name.getText()}]`]
  return decided.has(name.text) ? [name.text] : []
}

function isAssignment(kind: ts.SyntaxKind): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment
}

function isCounting(kind: ts.SyntaxKind): boolean {
  return kind === ts.SyntaxKind.PlusPlusToken || kind === ts.SyntaxKind.MinusMinusToken
}

/** Of a literal that an assignment takes apart, the names are only looked at. */
function isTakenApart(literal: ts.Node): boolean {
  const { parent } = literal
  if (ts.isBinaryExpression(parent)) return isAssignment(parent.operatorToken.kind) && parent.left === literal
  return ts.isArrayLiteralExpression(parent) && isTakenApart(parent)
}
