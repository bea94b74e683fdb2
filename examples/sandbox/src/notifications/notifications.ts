import type { CompiledQuery, Kysely, SchemaModule } from 'kysely'
import { newId } from '../web/ids.js'
import type { NotificationRequest } from './notification-request.js'

export interface Notification extends NotificationRequest {
  readonly id: string
  readonly tenant: string
  readonly status: 'queued' | 'sent' | 'refused'
  /** ISO 8601, in UTC. */
  readonly createdAt: string
}

export interface NotificationTables {
  notifications: { id: string; tenant: string; recipient: string; text: string; status: string; created_at: string }
}

type Queries = Kysely<NotificationTables>

export function createNotificationsTable(schema: SchemaModule): CompiledQuery {
  return schema
    .createTable('notifications')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('recipient', 'text', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .compile()
}

export function newNotification(tenant: string, asked: NotificationRequest): Notification {
  return { ...asked, id: newId('ntf'), tenant, status: 'queued', createdAt: new Date().toISOString() }
}

export function insertNotification(db: Queries, { to, createdAt, ...row }: Notification): CompiledQuery {
  return db
    .insertInto('notifications')
    .values({ ...row, recipient: to, created_at: createdAt })
    .compile()
}

export function setNotificationStatus(db: Queries, id: string, status: Notification['status']): CompiledQuery {
  return db.updateTable('notifications').set({ status }).where('id', '=', id).compile()
}

/** Asks for the tenant too: to everybody else the notification does not exist. */
export function findNotification(db: Queries, tenant: string, id: string): CompiledQuery {
  return db.selectFrom('notifications').selectAll().where('tenant', '=', tenant).where('id', '=', id).compile()
}

/** The last one first, from behind `after` on. */
export function listNotifications(
  db: Queries,
  tenant: string,
  limit: number,
  after: string | undefined,
): CompiledQuery {
  const mine = db.selectFrom('notifications').selectAll().where('tenant', '=', tenant)
  const rest = after === undefined ? mine : mine.where('id', '<', after)
  return rest.orderBy('id', 'desc').limit(limit).compile()
}

export function notificationOf(row: Readonly<Record<string, unknown>>): Notification {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    to: String(row.recipient),
    text: String(row.text),
    status: row.status as Notification['status'],
    createdAt: String(row.created_at),
  }
}

/** A notification as clients see it. */
export function shownNotification({ id, status, to, text, createdAt }: Notification) {
  return { id, status, to, text, createdAt }
}
