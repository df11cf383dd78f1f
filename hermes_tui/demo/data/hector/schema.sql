CREATE TABLE sessions (
    id VARCHAR(255) NOT NULL, agent_id VARCHAR(255) NOT NULL, metadata TEXT,
    created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, PRIMARY KEY (id, agent_id));
CREATE INDEX idx_sessions_agent_id ON sessions(agent_id);
CREATE INDEX idx_sessions_updated_at ON sessions(updated_at);
CREATE TABLE session_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id VARCHAR(255) NOT NULL, message_id VARCHAR(255) NOT NULL,
    context_id VARCHAR(255), task_id VARCHAR(255),
    role VARCHAR(50) NOT NULL, message_json TEXT NOT NULL, sequence_num INTEGER NOT NULL,
    created_at TIMESTAMP NOT NULL, FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE);
CREATE INDEX idx_messages_session_id ON session_messages(session_id);
CREATE INDEX idx_messages_message_id ON session_messages(message_id);
CREATE INDEX idx_messages_sequence ON session_messages(session_id, sequence_num);
