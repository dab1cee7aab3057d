;;; jumpseat-workspace.el --- The files that tools use  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The daemon's tools may use the files of one folder for each chat.  The daemon
;; asks Emacs for the texts of unsaved buffers, and lets Emacs make changes in
;; these buffers, so that a tool never overwrites unsaved text.

;;; Code:

(require 'project)
(require 'jumpseat-region)
(require 'jumpseat-rpc)
(require 'jumpseat-transcript)

(defun jumpseat--workspace-folder ()
  "Return the folder whose files the tools of this buffer may use, or nil.
This is the root of the project, or else the directory of the buffer.  Return
nil for the home directory and the root of the file system, which are too large,
and for a remote directory, which is on another machine."
  (unless (file-remote-p default-directory)
    (let* ((project (project-current))
           (folder (file-name-as-directory
                    (expand-file-name (if project (project-root project) default-directory)))))
      (unless (seq-some (lambda (each) (file-equal-p each folder)) '("~/" "/"))
        folder))))

(defun jumpseat-workspace--list-folders ()
  "Return the folder of this buffer for `initialize', or nil."
  (when-let ((folder (jumpseat--workspace-folder)))
    (let ((path (directory-file-name folder)))
      (vector (list :uri (jumpseat--region-uri path) :name (file-name-nondirectory path))))))

(setq jumpseat--rpc-folders-function #'jumpseat-workspace--list-folders)

(defun jumpseat--workspace-params (tools)
  "Return the params of a turn for tools, workspace rules and the folder.
TOOLS is a list of selectors."
  (let ((folder (and (or tools jumpseat-workspace-rules) (jumpseat--workspace-folder))))
    (append (when tools (list :daemonTools (vconcat tools)))
            (when (and folder jumpseat-workspace-rules) (list :workspaceRules t))
            (when folder (list :workspaceFolders (vector (directory-file-name folder)))))))

;;; Unsaved buffers

(defun jumpseat-workspace--describe (buffer uri)
  "Return the document of the unsaved BUFFER, whose file is URI."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (list :uri uri :version (buffer-chars-modified-tick)
            :text (buffer-substring-no-properties (point-min) (point-max))))))

(defun jumpseat-workspace--find-buffer (uri)
  "Return the buffer that visits the local file URI, or nil."
  (when-let ((file (jumpseat--region-file uri)))
    (find-buffer-visiting file)))

(defun jumpseat-workspace--list-unsaved ()
  "Return a cons for each unsaved buffer of a local file: the buffer and its URI."
  (delq nil (mapcar (lambda (buffer)
                      (when-let ((file (buffer-file-name buffer)))
                        (when (and (buffer-modified-p buffer) (not (file-remote-p file)))
                          (cons buffer (jumpseat--region-uri file)))))
                    (buffer-list))))

(defun jumpseat-workspace--report-unsaved (params)
  "Handle the request `workspace/unsaved' with PARAMS, and return its result."
  (let ((uris (plist-get params :uris)))
    (list :documents
          (vconcat
           (mapcar (lambda (pair) (jumpseat-workspace--describe (car pair) (cdr pair)))
                   (if (null uris) (jumpseat-workspace--list-unsaved)
                     (seq-filter (lambda (pair) (and (car pair) (buffer-modified-p (car pair))))
                                 (mapcar (lambda (uri)
                                           (cons (jumpseat-workspace--find-buffer uri) uri))
                                         uris))))))))

(jumpseat--rpc-serve 'workspace/unsaved #'jumpseat-workspace--report-unsaved)

;;; Edits

(defun jumpseat-workspace--check (change)
  "Return the buffer of CHANGE, or signal an error with the reason for a refusal."
  (let* ((document (plist-get change :textDocument))
         (buffer (jumpseat-workspace--find-buffer (plist-get document :uri))))
    (unless buffer (error "The file is not open in Emacs"))
    (with-current-buffer buffer
      (unless (eql (plist-get document :version) (buffer-chars-modified-tick))
        (error "The buffer %s has changed in the meantime" (buffer-name)))
      (when buffer-read-only (error "The buffer %s is read-only" (buffer-name))))
    buffer))

(defun jumpseat-workspace--change (buffer edits)
  "Make EDITS in BUFFER, in one undo step."
  (with-current-buffer buffer
    (let ((places (mapcar (lambda (edit)
                            (list (jumpseat--region-find (jumpseat--get edit :range :start))
                                  (jumpseat--region-find (jumpseat--get edit :range :end))
                                  (plist-get edit :newText)))
                          edits)))
      (undo-boundary)
      (atomic-change-group
        ;; Start with the last edit, so that no edit moves the places of others.
        (dolist (place (sort places (lambda (a b) (> (car a) (car b)))))
          (apply #'jumpseat--transcript-replace place)))
      (undo-boundary))))

(defun jumpseat-workspace--apply-edit (params)
  "Handle the request `workspace/applyEdit' with PARAMS, and return its result."
  (condition-case refusal
      (let* ((changes (jumpseat--get params :edit :documentChanges))
             (buffers (mapcar #'jumpseat-workspace--check changes)))
        (seq-mapn (lambda (buffer change)
                    (jumpseat-workspace--change buffer (plist-get change :edits)))
                  buffers changes)
        '(:applied t))
    (error (list :applied :json-false :failureReason (error-message-string refusal)))))

(jumpseat--rpc-serve 'workspace/applyEdit #'jumpseat-workspace--apply-edit)

;;; Files that a tool has written

(defun jumpseat-workspace--reread ()
  "Read the file of this buffer again, as a change that can be undone."
  (let* ((file buffer-file-name)
         (text (let ((coding-system-for-read buffer-file-coding-system))
                 (with-temp-buffer
                   (insert-file-contents file)
                   (buffer-string))))
         (inhibit-read-only t))
    ;; Otherwise Emacs would ask before the first change, because the file on
    ;; disk has changed.
    (set-visited-file-modtime)
    (undo-boundary)
    (save-restriction
      (widen)
      (jumpseat--transcript-replace (point-min) (point-max) text))
    (undo-boundary)
    (set-buffer-modified-p nil)))

(defun jumpseat--workspace-refresh (folder)
  "Update buffers without unsaved edits whose files in FOLDER have changed."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and buffer-file-name (not (buffer-modified-p))
                 (not (file-remote-p buffer-file-name))
                 ;; Buffers of images and archives do not show the text of their file.
                 (eq revert-buffer-function #'revert-buffer--default)
                 (not (verify-visited-file-modtime buffer))
                 (file-in-directory-p buffer-file-name folder)
                 (file-readable-p buffer-file-name))
        (jumpseat-workspace--reread)))))

(provide 'jumpseat-workspace)
;;; jumpseat-workspace.el ends here
